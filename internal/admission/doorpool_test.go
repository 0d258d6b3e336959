// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// doorKind is a kind of pools of a front door: Weir's, under another group. No excluded address is admitted, and each raises a doubt.
var doorKind = func() pools.Kind {
	kind := pools.IPPools
	kind.Group, kind.AddressField = "example.com", "addresses"
	kind.Refused = func(p pools.Object) (errs field.ErrorList) {
		for i, text := range excludedBy(p) {
			errs = append(errs, field.Invalid(field.NewPath("spec", "excludedAddresses").Index(i), text, "is not admitted"))
		}
		return errs
	}
	kind.Doubts = func(p pools.Object) (doubts []string) {
		for _, text := range excludedBy(p) {
			doubts = append(doubts, "doubtful: "+string(text))
		}
		return doubts
	}
	return kind
}()

func excludedBy(p pools.Object) []ipamv1.AddressEntry {
	own, _ := p.(*ipamv1.IPPool)
	return own.Spec.ExcludedAddresses
}

func TestPoolsOfDoors(t *testing.T) {
	t.Parallel()
	const (
		ten      = `{addresses: [192.0.2.0-192.0.2.9], network: {prefixLength: 24}}`
		five     = `{addresses: [192.0.2.0-192.0.2.4], network: {prefixLength: 24}}`
		excluded = `{addresses: [192.0.2.0-192.0.2.9], network: {prefixLength: 24}, excludedAddresses: [192.0.2.1, 192.0.2.2]}`
		fewer    = `{addresses: [192.0.2.0-192.0.2.9], network: {prefixLength: 24}, excludedAddresses: [192.0.2.2]}`
		other    = `{addresses: [192.0.2.0-192.0.2.8], network: {prefixLength: 24}, excludedAddresses: [192.0.2.3, 192.0.2.2]}`
		invalid  = `{addresses: [192.0.2.9-192.0.2.0], network: {prefixLength: 24}}`
	)
	for name, test := range map[string]struct {
		old, updated string
		held         []string
		want         verdict
	}{
		"a new pool":                               {updated: ten},
		"one that cannot be served":                {updated: invalid, want: verdict{code: 422, parts: []string{"spec.addresses[0]"}}},
		"one with what is not admitted":            {updated: fewer, want: verdict{code: 422, parts: []string{"spec.excludedAddresses[0]", "is not admitted"}}},
		"a change that brings that about":          {old: ten, updated: fewer, want: verdict{code: 422, parts: []string{"spec.excludedAddresses[0]"}}},
		"what was stored with it stays":            {old: excluded, updated: excluded},
		"and may get better":                       {old: excluded, updated: fewer},
		"and not worse elsewhere":                  {old: excluded, updated: other, want: verdict{code: 422, parts: []string{"excludedAddresses[0]", "192.0.2.3"}}},
		"what could not be served may be repaired": {old: invalid, updated: ten},
		"what cannot be served may change a label": {old: invalid, updated: invalid},
		"a pool that shrinks":                      {old: ten, updated: five},
		"but not below what is in use": {old: ten, updated: five, held: []string{"192.0.2.3/32", "192.0.2.7/32"},
			want: verdict{code: 422, parts: []string{"spec.addresses", "1 prefix is in use and would fall out of the pool: 192.0.2.7"}}},
		"what lies outside already stays": {old: five, updated: `{addresses: [192.0.2.0-192.0.2.5], network: {prefixLength: 24}}`, held: []string{"192.0.2.7/32"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			records := make(held, 0, len(test.held))
			for _, prefix := range test.held {
				records = append(records, claimed(ofDoor(), prefix, "c"))
			}
			test.want.check(t, askOfDoor(t, records, test.updated, test.old))
		})
	}
}

// askOfDoor asks the webhook about a pool of doorKind.
func askOfDoor(t *testing.T, records held, updated, old string) admission.Response {
	t.Helper()
	operation := admissionv1.Create
	if old != "" {
		operation = admissionv1.Update
	}
	return askOfKind(t, doorKind, records, request(operation, object(t, team, updated), object(t, team, old), "jo"))
}

// askOfKind asks the webhook about the pool team of a kind.
func askOfKind(t *testing.T, kind pools.Kind, records held, req admission.Request) admission.Response {
	t.Helper()
	handler := doorPools{Doors{Pools: []pools.Kind{kind}}, records, everything, optionsWith(t, records).Registry}
	req.Kind, req.Namespace, req.Name = metav1.GroupVersionKind{Group: kind.Group, Version: "v1", Kind: kind.Kind}, team.Namespace, team.Name
	return handler.validate(t.Context(), req)
}

// ofDoor returns what the pool team of doorKind is named by.
func ofDoor() ipamv1.PoolReference {
	return doorKind.Reference(&ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: team.Namespace, Name: team.Name}})
}

func TestPoolsThatKeepWhatIsInUseExcludeNoneOfIt(t *testing.T) {
	t.Parallel()
	const (
		all      = `{addresses: [192.0.2.0-192.0.2.9], network: {prefixLength: 24}}`
		excluded = `{addresses: [192.0.2.0-192.0.2.9], network: {prefixLength: 24}, excludedAddresses: [192.0.2.7]}`
		more     = `{addresses: [192.0.2.0-192.0.2.9], network: {prefixLength: 24}, excludedAddresses: [192.0.2.7, 192.0.2.8]}`
		gateway  = `{addresses: [192.0.2.0-192.0.2.9], network: {prefixLength: 24, gateway: 192.0.2.7}}`
		fewer    = `{addresses: [192.0.2.0-192.0.2.6], network: {prefixLength: 24}}`
	)
	refusal := verdict{code: 422, parts: []string{"spec: Forbidden: 1 prefix is in use and would be excluded, reserved or the gateway: 192.0.2.7 for "}}
	onlyLost := verdict{code: 422, parts: []string{"is invalid: spec.addresses: Forbidden: 1 prefix is in use and would fall out of the pool: 192.0.2.7 for "}}
	inUse := claimed(ofDoor(), "192.0.2.7/32", "c")
	adopted := inUse
	adopted.Purpose = ledger.ForAdopted
	kind := doorKind
	kind.KeepsInUse, kind.Refused, kind.Doubts = true, nil, nil
	for name, test := range map[string]struct {
		old, updated string
		held         ledger.Holding
		want         verdict
	}{
		"newly excluded":                     {old: all, updated: excluded, held: inUse, want: refusal},
		"the new gateway":                    {old: all, updated: gateway, held: inUse, want: refusal},
		"newly excluded, of what arrived":    {old: all, updated: excluded, held: adopted, want: refusal},
		"taken out, which is told once":      {old: all, updated: fewer, held: inUse, want: onlyLost},
		"excluded before":                    {old: excluded, updated: more, held: inUse},
		"cooling down":                       {old: all, updated: excluded, held: cooling(inUse)},
		"held for what moved to elsewhere":   {old: all, updated: excluded, held: moved(inUse, "team", "m")},
		"in use by another pool of the name": {old: all, updated: excluded, held: claimed(team, "192.0.2.7/32", "c")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := request(admissionv1.Update, object(t, team, test.updated), object(t, team, test.old), "jo")
			test.want.check(t, askOfKind(t, kind, held{test.held}, req))
		})
	}
	t.Run("of another kind they may be", func(t *testing.T) {
		t.Parallel()
		kind := kind
		kind.KeepsInUse = false
		req := request(admissionv1.Update, object(t, team, excluded), object(t, team, all), "jo")
		verdict{}.check(t, askOfKind(t, kind, held{inUse}, req))
	})
}

func TestPoolsOfDoorsAreNotDeletedInUse(t *testing.T) {
	t.Parallel()
	const collector = "system:serviceaccount:kube-system:generic-garbage-collector"
	inUse := claimed(ofDoor(), "192.0.2.7/32", "c")
	pool := func(metadata string) string {
		return `{"metadata": {"namespace": "team", "name": "pool"` + metadata + `}, "spec": {}}`
	}
	refusal := verdict{code: 403, parts: []string{`ippools.example.com "pool" is forbidden: 1 prefix is allocated from it: 192.0.2.7 for `}}
	for name, test := range map[string]struct {
		stored, user string
		held         held
		want         verdict
	}{
		"in use":                         {stored: pool(""), held: held{inUse}, want: refusal},
		"not in use":                     {stored: pool(""), held: held{claimed(team, "192.0.2.7/32", "c")}},
		"with what cools down":           {stored: pool(""), held: held{cooling(inUse)}},
		"by the garbage collector":       {stored: pool(""), held: held{inUse}, user: collector},
		"by clusterctl, that moved it":   {stored: pool(`, "annotations": {"clusterctl.cluster.x-k8s.io/delete-for-move": ""}`), held: held{inUse}},
		"that is being deleted already":  {stored: pool(`, "deletionTimestamp": "2026-01-01T00:00:00Z"`), held: held{inUse}},
		"whatever is in use of another":  {stored: pool(""), held: held{claimed(global, "192.0.2.7/32", "c")}},
		"in use, whatever its spec says": {stored: `{"metadata": {"namespace": "team", "name": "pool"}, "spec": {"addresses": ["x"]}}`, held: held{inUse}, want: refusal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := request(admissionv1.Delete, runtime.RawExtension{}, runtime.RawExtension{Raw: []byte(test.stored)}, cmp.Or(test.user, "jo"))
			test.want.check(t, askOfKind(t, doorKind, test.held, req))
		})
	}
}

func TestDoubtsOfPoolsOfDoorsAreWarnedOfOnce(t *testing.T) {
	t.Parallel()
	const old = `{addresses: [192.0.2.0-192.0.2.9], network: {prefixLength: 24}, excludedAddresses: [192.0.2.1]}`
	got := askOfDoor(t, nil, strings.Replace(old, ".9]", ".8]", 1), old)
	if !got.Allowed || len(got.Warnings) > 0 {
		t.Errorf("got %v", got)
	}
	if got = askOfDoor(t, nil, strings.Replace(old, "[192.0.2.1]", "[]", 1), ""); !got.Allowed || got.Result.Code != http.StatusOK {
		t.Errorf("got %v", got)
	}
}
