// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
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
			pool := doorKind.Reference(&ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "pool"}})
			records := make(held, 0, len(test.held))
			for _, prefix := range test.held {
				records = append(records, claimed(pool, prefix, "c"))
			}
			test.want.check(t, askOfDoor(t, records, test.updated, test.old))
		})
	}
}

// askOfDoor asks the webhook about a pool of doorKind.
func askOfDoor(t *testing.T, records held, updated, old string) admission.Response {
	t.Helper()
	handler := doorPools{Doors{Pools: []pools.Kind{doorKind}}, records, everything}
	operation := admissionv1.Create
	if old != "" {
		operation = admissionv1.Update
	}
	req := request(operation, object(t, team, updated), object(t, team, old), "jo")
	req.Kind, req.Namespace, req.Name = metav1.GroupVersionKind{Group: doorKind.Group, Version: "v1", Kind: doorKind.Kind}, team.Namespace, team.Name
	return handler.validate(t.Context(), req)
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
