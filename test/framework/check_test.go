// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// permissiveCRD is a kind of Weir's without validation, so that any fault can
// be planted.
const permissiveCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]ss.ipam.weir.dev}
spec:
  group: ipam.weir.dev
  scope: Namespaced
  names: {kind: %[1]s, listKind: %[1]sList, plural: %[2]ss, singular: %[2]s}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// world makes objects by hand.
type world struct {
	t *testing.T
	client.Client
}

func newWorld(t *testing.T, cfg *rest.Config) *world {
	t.Helper()
	if err := framework.InstallCAPICRDs(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"IPPool", "IPClaim", "IPAllocation"} {
		objects, err := framework.ParseManifests(fmt.Appendf(nil, permissiveCRD, kind, strings.ToLower(kind)))
		if err != nil {
			t.Fatal(err)
		}
		if err := framework.Apply(t.Context(), cfg, objects...); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, Client: c}
}

// create creates the object of a manifest in the default namespace and returns
// its UID.
func (w *world) create(format string, args ...any) string {
	w.t.Helper()
	objects, err := framework.ParseManifests(fmt.Appendf(nil, format, args...))
	if err != nil {
		w.t.Fatal(err)
	}
	object := objects[0]
	status := object.DeepCopy()
	object.SetNamespace("default")
	if err := w.Create(w.t.Context(), object); err != nil {
		w.t.Fatalf("creating %s %s: %v", object.GetKind(), object.GetName(), err)
	}
	if content, found, _ := unstructured.NestedMap(status.Object, "status"); found {
		object.Object["status"] = content
		if err := w.Status().Update(w.t.Context(), object); err != nil {
			w.t.Fatalf("writing the status of %s: %v", object.GetName(), err)
		}
	}
	return string(object.GetUID())
}

func (w *world) pool(name, spec string) string {
	return w.create(`{apiVersion: ipam.weir.dev/v1alpha1, kind: IPPool, metadata: {name: %s}, spec: {%s}}`, name, spec)
}

func (w *world) claim(name, pool, status string) string {
	return w.create(`
apiVersion: ipam.cluster.x-k8s.io/v1beta2
kind: IPAddressClaim
metadata: {name: %s}
spec: {poolRef: {apiGroup: ipam.weir.dev, kind: IPPool, name: %s}}
%s`, name, pool, status)
}

func (w *world) answer(claim, uid, pool, address string) {
	w.create(`
apiVersion: ipam.cluster.x-k8s.io/v1beta2
kind: IPAddress
metadata:
  name: %[1]s
  ownerReferences:
  - {apiVersion: ipam.cluster.x-k8s.io/v1beta2, kind: IPAddressClaim, name: %[1]s, uid: %[2]s, controller: true}
spec:
  claimRef: {name: %[1]s}
  poolRef: {apiGroup: ipam.weir.dev, kind: IPPool, name: %[3]s}
  address: %[4]s
  prefix: 24`, claim, uid, pool, address)
}

func (w *world) record(name, kind, claim, uid, pool, cidr string) {
	group := "ipam.weir.dev"
	if kind == "IPAddressClaim" {
		group = "ipam.cluster.x-k8s.io"
	}
	w.create(`
apiVersion: ipam.weir.dev/v1alpha1
kind: IPAllocation
metadata: {name: %s}
spec:
  poolRef: {kind: IPPool, namespace: default, name: %s}
  addressSpace: default
  cidr: %q
  purpose: Claim
  claimRef: {apiGroup: %s, kind: %s, namespace: default, name: %s, uid: %q}`, name, pool, cidr, group, kind, claim, uid)
}

// TestCheck plants each kind of fault once among objects that are right.
func TestCheck(t *testing.T) {
	cp := startControlPlane(t, framework.Options{})
	w := newWorld(t, cp.Config())
	w.pool("root", "cidr: 10.0.0.0/16")
	block := w.pool("child", "cidr: 10.0.1.0/24, parentRef: {kind: IPPool, name: root}")
	w.record("child", "IPPool", "child", block, "root", "10.0.1.0/24")
	w.pool("elsewhere", "cidr: 10.0.0.0/16, addressSpace: other")
	for i, pool := range []string{"root", "child"} {
		name, address := "right-"+pool, fmt.Sprintf("10.0.%d.7", i)
		uid := w.claim(name, pool, "status: {addressRef: {name: "+name+"}}")
		w.record(name, "IPAddressClaim", name, uid, pool, address+"/32")
		w.answer(name, uid, pool, address)
	}
	own := w.create(`{apiVersion: ipam.weir.dev/v1alpha1, kind: IPClaim, metadata: {name: own}, spec: {poolRef: {kind: IPPool, name: child}, cidr: 10.0.1.16/28}}`)
	w.record("own", "IPClaim", "own", own, "child", "10.0.1.16/28")
	w.claim("told", "child", `status: {conditions: [{type: Ready, status: "False", reason: PoolExhausted, message: full, lastTransitionTime: "2026-01-01T00:00:00Z"}]}`)

	report := check(t, cp.Config())
	if err := report.AtRest(); err != nil {
		t.Fatalf("nothing is wrong: %s: %v", report, err)
	}
	if want := (fsck.Report{Claims: 4, Answers: 4, Records: 4}); report.String() != want.String() {
		t.Errorf("got %s, want %s", report, &want)
	}

	double := w.claim("double", "child", "status: {addressRef: {name: double}}")
	w.record("double", "IPAddressClaim", "double", double, "child", "10.0.1.7/32")
	w.answer("double", double, "child", "10.0.1.7")
	prefix := w.create(`{apiVersion: ipam.weir.dev/v1alpha1, kind: IPClaim, metadata: {name: prefix}, spec: {poolRef: {kind: IPPool, name: root}, cidr: 10.0.0.0/28}}`)
	w.record("prefix", "IPClaim", "prefix", prefix, "root", "10.0.0.0/28")
	leaves := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "ipam.weir.dev/v1alpha1", "kind": "IPClaim"}}
	leaves.SetNamespace("default")
	leaves.SetName("leaves")
	uid := w.create(`{apiVersion: ipam.weir.dev/v1alpha1, kind: IPClaim, metadata: {name: leaves, finalizers: [example.com/used]}, spec: {poolRef: {kind: IPPool, name: child}, cidr: 10.0.1.24/29}}`)
	w.record("leaves", "IPClaim", "leaves", uid, "child", "10.0.1.24/29")
	if err := w.Delete(t.Context(), leaves); err != nil {
		t.Fatal(err)
	}
	unrecorded := w.claim("unrecorded", "root", "")
	w.answer("unrecorded", unrecorded, "root", "10.0.0.99")
	w.record("leaked", "IPAddressClaim", "gone", "00000000-0000-0000-0000-000000000000", "root", "10.0.0.100/32")
	w.claim("silent", "root", "")

	report = check(t, cp.Config())
	expectFinding(t, report.Of(fsck.Overlap), "double", "right-child")
	expectFinding(t, report.Of(fsck.Overlap), "prefix", "right-root")
	expectFinding(t, report.Of(fsck.Overlap), "leaves", "own")
	expectFinding(t, report.Of(fsck.NoRecord), "unrecorded")
	expectFinding(t, report.Of(fsck.NoClaim), "leaked")
	expectFinding(t, report.Of(fsck.Silent), "silent")
	if got := len(report.Findings); got != 6 {
		t.Errorf("found %d faults of 6: %v", got, report.AtRest())
	}

	held := []fsck.Held{{Space: "default", CIDR: netip.MustParsePrefix("10.0.1.6/31"), UID: "stranger"}}
	report, err := fsck.CheckWith(t.Context(), cp.Config(), func() []fsck.Held { return held })
	if err != nil {
		t.Fatal(err)
	}
	expectFinding(t, report.Of(fsck.Overlap), "stranger", "right-child")
	expectFinding(t, report.Of(fsck.NoRecord), "stranger")
}

func check(t *testing.T, cfg *rest.Config) *fsck.Report {
	t.Helper()
	report, err := fsck.Check(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func expectFinding(t *testing.T, findings []string, names ...string) {
	t.Helper()
	if !slices.ContainsFunc(findings, func(finding string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !strings.Contains(finding, name) })
	}) {
		t.Errorf("no finding names %v: %v", names, findings)
	}
}
