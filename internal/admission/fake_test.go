// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/foreign"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
)

// held is a ledger with a list of records.
type held []ledger.Holding

var _ Holdings = held{}

func (h held) Holdings(pool ipamv1.PoolReference) []ledger.Holding {
	var found []ledger.Holding
	for _, record := range h {
		if record.Pool == pool && record.Purpose != ledger.ForRoot {
			found = append(found, record)
		}
	}
	return found
}

func (h held) Overlapping(space string, prefix netip.Prefix) []ledger.Holding {
	var found []ledger.Holding
	for _, record := range h {
		if space == ipamv1.DefaultAddressSpace && record.CIDR.Overlaps(prefix) {
			found = append(found, record)
		}
	}
	return found
}

func (h held) ForeignIn(string, []netip.Prefix) []foreign.Address { return nil }

// optionsWith are those of webhooks that know these records, and no pool.
func optionsWith(tb testing.TB, h Holdings) Options {
	tb.Helper()
	none := fake.NewClientBuilder().WithScheme(scheme(tb)).Build()
	book := ledger.New(ledger.Options{Client: none, Instance: "test", Clock: clock.RealClock{}})
	rules := &tenancy.Rules{Client: none, Platform: "platform", Namespace: "weir-system"}
	registry := &pools.Registry{Client: none, Ledger: book, Rules: rules, Namespace: "weir-system"}
	entitled := &entitlement.IPClaims{Client: none, Registry: registry}
	return Options{Holdings: h, Ledger: book, Registry: registry, Entitled: entitled, Doors: clusterAPI, Authenticated: true}
}

// clusterAPI is what the webhooks know of the front door of IPAddressClaims.
var clusterAPI = Doors{Forms: []door.Form{clusterapi.Form{}}}

// allowed is a user's rights: a function that says so.
type allowed func(authorizationv1.ResourceAttributes) bool

var _ Readers = allowed(nil)

// May is for user jo only.
func (a allowed) May(_ context.Context, user authenticationv1.UserInfo, what authorizationv1.ResourceAttributes) (bool, error) {
	return user.Username == "jo" && what.Verb == "get" && a(what), nil
}

// PluralOf knows Weir's kinds, those of IPAddressClaims, and a kind whose plural is irregular.
func (allowed) PluralOf(kind schema.GroupKind) (string, bool) {
	plural, known := map[string]string{
		"IPPool": "ippools", "GlobalIPPool": "globalippools", "IPClaim": "ipclaims", "IPAddressClaim": "ipaddressclaims", "IPAddress": "ipaddresses", "Proxy": "proxies",
	}[kind.Kind]
	return plural, known
}

var everything = allowed(func(authorizationv1.ResourceAttributes) bool { return true })

var (
	team   = ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "team", Name: "pool"}
	global = ipamv1.PoolReference{Kind: ipamv1.GlobalIPPoolKind, Name: "pool"}
)

// cooling is a record that its claim has let go of.
func cooling(h ledger.Holding) ledger.Holding {
	h.ReleasedAt = time.Unix(1, 0)
	return h
}

// retained is a record that its claim has left behind for the next one of the name.
func retained(h ledger.Holding) ledger.Holding {
	h = cooling(h)
	h.Retained = true
	return h
}

// moved is a record that holds what a claim took along to another cluster.
func moved(h ledger.Holding, namespace, name string) ledger.Holding {
	h.Purpose, h.Record = ledger.ForMoved, types.NamespacedName{Namespace: namespace, Name: name}
	return h
}

// claimed is a record of one claim.
func claimed(pool ipamv1.PoolReference, prefix, claim string) ledger.Holding {
	return ledger.Holding{
		CIDR: netip.MustParsePrefix(prefix), Purpose: ledger.ForClaim, Pool: pool,
		Claim: ipamv1.ClaimReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: "IPAddressClaim", Namespace: "team", Name: claim},
	}
}

// root is the record of a root pool's block.
func root(pool ipamv1.PoolReference, prefix string) ledger.Holding {
	return ledger.Holding{
		CIDR: netip.MustParsePrefix(prefix), Purpose: ledger.ForRoot, Pool: pool,
		Claim: ledger.ClaimOf(pool, ""),
	}
}

// manyClaims are records of n claims for consecutive addresses from
// 192.0.2.1.
func manyClaims(n int) held {
	var records held
	for i := 1; i <= n; i++ {
		records = append(records, claimed(team, fmt.Sprintf("192.0.%d.%d/32", 2+i/256, i%256), fmt.Sprintf("claim-%d", i-1)))
	}
	return records
}

// object returns the JSON of a pool with a spec written in YAML; none for "".
func object(t *testing.T, ref ipamv1.PoolReference, spec string) runtime.RawExtension {
	t.Helper()
	if spec == "" {
		return runtime.RawExtension{}
	}
	text := fmt.Sprintf(`{apiVersion: ipam.weir.dev/v1alpha1, kind: %s, metadata: {name: %q, namespace: %q}, spec: %s}`,
		ref.Kind, ref.Name, ref.Namespace, spec)
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: raw}
}

func request(operation admissionv1.Operation, object, old runtime.RawExtension, user string) admission.Request {
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "request", Operation: operation, Object: object, OldObject: old,
		UserInfo: authenticationv1.UserInfo{Username: user},
	}}
}

// kindNamed is a kind of Cluster API or of Weir.
func kindNamed(name string) metav1.GroupVersionKind {
	group := kinds.IPPool.Group
	if name == kinds.IPAddress.Kind || name == kinds.IPAddressClaim.Kind {
		group = kinds.IPAddress.Group
	}
	return metav1.GroupVersionKind{Group: group, Kind: name}
}

// patched applies the patches of a response, as the API server does.
func patched(t *testing.T, raw []byte, response admission.Response) []byte {
	t.Helper()
	if len(response.Patches) == 0 {
		return raw
	}
	text, err := json.Marshal(response.Patches)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		t.Fatal(err)
	}
	out, err := patch.Apply(raw)
	if err != nil {
		t.Fatalf("applying %s to %s: %v", text, raw, err)
	}
	return out
}
