// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// The world of these tests: project blue has two namespaces, green one, and one that is called blue is of neither.
var world = map[string]map[string]string{
	"blue-1":      {ipamv1.ProjectLabel: "blue", "tier": "gold"},
	"blue-2":      {ipamv1.ProjectLabel: "blue"},
	"green-1":     {ipamv1.ProjectLabel: "green", "tier": "gold"},
	"ops":         {ipamv1.ProjectLabel: "platform"},
	"weir-system": {ipamv1.ProjectLabel: "green"},
	"plain":       {"tier": "gold"},
	"blue":        nil,
	"empty":       {ipamv1.ProjectLabel: ""},
}

// everywhere are all of them, and one that is not known.
var everywhere = []string{"blue", "blue-1", "blue-2", "empty", "green-1", "ops", "plain", "unknown", "weir-system"}

func scheme(tb testing.TB) *runtime.Scheme {
	tb.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, ipamv1.AddToScheme} {
		if err := add(s); err != nil {
			tb.Fatal(err)
		}
	}
	return s
}

func rules(tb testing.TB, more ...client.Object) *Rules {
	tb.Helper()
	b := fake.NewClientBuilder().WithScheme(scheme(tb)).WithObjects(more...)
	for name, labels := range world {
		b.WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	return &Rules{Client: b.Build(), Platform: "platform", Namespace: "weir-system"}
}

// visibility is what a pool says about who may use it.
type visibility struct {
	is       ipamv1.PoolVisibility
	selector *metav1.LabelSelector
}

func (v visibility) spec() ipamv1.IPPoolSpec {
	return ipamv1.IPPoolSpec{CIDR: "10.0.0.0/24", Visibility: v.is, NamespaceSelector: v.selector}
}

func namespaced(namespace string, v visibility) poolspec.Pool {
	p := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p"}, Spec: v.spec()}
	return poolspec.Read(&p.Spec, p.PoolReference(), nil)
}

func global(project string, v visibility) poolspec.Pool {
	p := globalPool(project, v)
	return poolspec.Read(&p.Spec, p.PoolReference(), p.Labels)
}

func globalPool(project string, v visibility) *ipamv1.GlobalIPPool {
	p := &ipamv1.GlobalIPPool{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v.spec()}
	if project != "" {
		p.Labels = map[string]string{ipamv1.ProjectLabel: project}
	}
	return p
}

var (
	absent   = visibility{}
	platform = visibility{is: ipamv1.PlatformVisibility}
	consumer = visibility{is: ipamv1.ConsumerVisibility}
	shared   = visibility{is: ipamv1.SharedVisibility}
	gold     = visibility{ipamv1.SharedVisibility, &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}}
	noGold   = visibility{ipamv1.SharedVisibility, &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpDoesNotExist}},
	}}
	all     = visibility{ipamv1.SharedVisibility, &metav1.LabelSelector{}}
	unsound = visibility{ipamv1.SharedVisibility, &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Near"}},
	}}
)

// known are all namespaces but the one that is not in the cache.
func known() []string {
	return slices.DeleteFunc(slices.Clone(everywhere), func(n string) bool { return n == "unknown" })
}

func TestWhoMayClaimAndCarve(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pool poolspec.Pool
		// claim and carve are the namespaces that may.
		claim, carve []string
	}{
		"an IPPool by default":                {namespaced("blue-1", absent), []string{"blue-1"}, []string{"blue-1", "blue-2"}},
		"an IPPool for the platform":          {namespaced("blue-1", platform), []string{"blue-1"}, []string{"blue-1", "ops", "weir-system"}},
		"an IPPool for its project":           {namespaced("blue-1", consumer), []string{"blue-1"}, []string{"blue-1", "blue-2"}},
		"an IPPool of no labelled project":    {namespaced("plain", consumer), []string{"plain"}, []string{"plain"}},
		"an IPPool of a namespace like it":    {namespaced("blue", consumer), []string{"blue"}, []string{"blue"}},
		"an IPPool of an unknown namespace":   {namespaced("unknown", consumer), []string{"unknown"}, []string{"unknown"}},
		"an IPPool of the manager's":          {namespaced("weir-system", consumer), []string{"weir-system"}, []string{"ops", "weir-system"}},
		"an IPPool of the platform":           {namespaced("ops", absent), []string{"ops"}, []string{"ops", "weir-system"}},
		"a shared IPPool":                     {namespaced("blue-1", shared), []string{"blue-1"}, everywhere},
		"a shared IPPool for some":            {namespaced("blue-2", gold), []string{"blue-2"}, []string{"blue-1", "blue-2", "green-1", "plain"}},
		"a GlobalIPPool by default":           {global("", absent), everywhere, everywhere},
		"a GlobalIPPool of blue by default":   {global("blue", absent), everywhere, everywhere},
		"a GlobalIPPool for the platform":     {global("blue", platform), []string{"ops", "weir-system"}, []string{"ops", "weir-system"}},
		"a GlobalIPPool for its project":      {global("blue", consumer), []string{"blue-1", "blue-2"}, []string{"blue-1", "blue-2"}},
		"a GlobalIPPool for nobody's project": {global("", consumer), nil, nil},
		"a GlobalIPPool of the platform":      {global("platform", consumer), []string{"ops", "weir-system"}, []string{"ops", "weir-system"}},
		"a GlobalIPPool named like namespace": {global("plain", consumer), nil, nil},
		"a shared GlobalIPPool":               {global("green", shared), everywhere, everywhere},
		"a shared GlobalIPPool for some":      {global("blue", gold), []string{"blue-1", "green-1", "plain"}, []string{"blue-1", "green-1", "plain"}},
		"a shared GlobalIPPool for others": {
			global("blue", noGold), []string{"blue", "blue-2", "empty", "ops", "weir-system"}, []string{"blue", "blue-2", "empty", "ops", "weir-system"},
		},
		"a shared GlobalIPPool for all that are known": {global("blue", all), known(), known()},
		"a GlobalIPPool with an invalid selector":      {global("blue", unsound), nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, ctx := rules(t), t.Context()
			for _, namespace := range everywhere {
				ok, reason, err := r.MayClaim(ctx, namespace, test.pool)
				check(t, "claim in "+namespace, ok, slices.Contains(test.claim, namespace), reason, err)
				ok, reason, err = r.MayCarve(ctx, namespaced(namespace, absent), test.pool)
				check(t, "carve from "+namespace, ok, slices.Contains(test.carve, namespace), reason, err)
			}
		})
	}
}

func check(t *testing.T, what string, ok, want bool, reason string, err error) {
	t.Helper()
	if err != nil || ok != want || ok != (reason == "") {
		t.Errorf("may %s: %t (%q), %v; want %t", what, ok, reason, err, want)
	}
}

func TestWhichGlobalIPPoolMayCarve(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		parent poolspec.Pool
		// projects are those whose GlobalIPPools may.
		projects []string
	}{
		"an IPPool by default":                {namespaced("blue-1", absent), []string{"blue"}},
		"an IPPool of no labelled project":    {namespaced("plain", absent), nil},
		"an IPPool for the platform":          {namespaced("blue-1", platform), []string{"platform"}},
		"a GlobalIPPool by default":           {global("", absent), []string{"", "blue", "green", "platform"}},
		"a GlobalIPPool for its project":      {global("blue", consumer), []string{"blue"}},
		"a GlobalIPPool for nobody's project": {global("", consumer), nil},
		"a shared GlobalIPPool for some":      {global("blue", gold), []string{"blue"}},
		"a GlobalIPPool for the platform":     {global("blue", platform), []string{"platform"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rules(t)
			for _, project := range []string{"", "blue", "green", "platform"} {
				ok, reason, err := r.MayCarve(t.Context(), global(project, absent), test.parent)
				check(t, "carve for project "+project, ok, slices.Contains(test.projects, project), reason, err)
			}
		})
	}
}

func TestReasonsDoNotTellWhetherThereIsSuchAPool(t *testing.T) {
	t.Parallel()
	_, reason, err := rules(t).MayClaim(t.Context(), "green-1", global("blue", consumer))
	if want := `there is no GlobalIPPool "p", or it is not visible to namespace green-1`; err != nil || reason != want {
		t.Errorf("%q, %v; want %q", reason, err, want)
	}
	_, reason, _ = rules(t).MayCarve(t.Context(), global("", absent), namespaced("blue-1", absent))
	if want := `there is no IPPool "p" in namespace blue-1, or it is not visible here`; reason != want {
		t.Errorf("%q; want %q", reason, want)
	}
}

func TestOwns(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pool poolspec.Pool
		want []string
	}{
		"an IPPool":                       {namespaced("blue-1", shared), []string{"blue-1", "blue-2"}},
		"an IPPool of no label's project": {namespaced("plain", shared), []string{"plain"}},
		"a GlobalIPPool of a project":     {global("blue", shared), []string{"blue-1", "blue-2"}},
		"a GlobalIPPool of the platform":  {global("platform", shared), []string{"ops", "weir-system"}},
		"a GlobalIPPool of nobody":        {global("", shared), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, namespace := range everywhere {
				got, err := rules(t).Owns(t.Context(), namespace, test.pool)
				if err != nil || got != slices.Contains(test.want, namespace) {
					t.Errorf("%s: %t, %v", namespace, got, err)
				}
			}
		})
	}
}

func TestSees(t *testing.T) {
	t.Parallel()
	blue, green, nobody, named := labelledAs("blue"), labelledAs("green"), Project{}, Project{alone, "blue"}
	for _, p := range []Project{blue, green, named} {
		for _, other := range []Project{blue, green, nobody, named} {
			if got := p.Sees(other); got != (p == other) {
				t.Errorf("%v sees %v: %t", p, other, got)
			}
		}
	}
	if nobody.Sees(nobody) || nobody.Sees(blue) {
		t.Error("nobody sees somebody")
	}
}

func TestMayName(t *testing.T) {
	t.Parallel()
	r := rules(t, globalPool("blue", absent), &ipamv1.GlobalIPPool{ObjectMeta: metav1.ObjectMeta{Name: "unlabelled"}})
	object := func(kind, namespace, name string) ipamv1.ClaimReference {
		return ipamv1.ClaimReference{APIGroup: ipamv1.GroupVersion.Group, Kind: kind, Namespace: namespace, Name: name}
	}
	tests := []struct {
		reader string
		object ipamv1.ClaimReference
		want   bool
	}{
		{"plain", object("IPAddressClaim", "plain", "c"), true},
		{"unknown", object("IPAddressClaim", "unknown", "c"), true},
		{"blue-1", object("IPAddressClaim", "blue-2", "c"), true},
		{"blue-1", object("IPPool", "blue-2", "p"), true},
		{"blue-1", object("IPAddressClaim", "green-1", "c"), false},
		{"blue-1", object("IPAddressClaim", "blue", "c"), false},
		{"ops", object("IPAddressClaim", "blue-1", "c"), false},
		{"blue-1", object("GlobalIPPool", "", "p"), true},
		{"green-1", object("GlobalIPPool", "", "p"), false},
		{"blue-1", object("GlobalIPPool", "", "unlabelled"), false},
		{"blue-1", object("GlobalIPPool", "", "unknown"), false},
		{"blue-1", ipamv1.ClaimReference{APIGroup: "other.dev", Kind: "GlobalIPPool", Name: "p"}, false},
		{"", object("IPAddressClaim", "blue-1", "c"), false},
		{"", object("GlobalIPPool", "", "p"), false},
	}
	for _, test := range tests {
		if got := r.MayName(t.Context(), test.reader, test.object); got != test.want {
			t.Errorf("naming %v in %q: %t", test.object, test.reader, got)
		}
	}
}

// TestAFormerTenantsClaimIsNotNamed: a namespace that was made after the release is another one.
func TestAFormerTenantsClaimIsNotNamed(t *testing.T) {
	t.Parallel()
	made := time.Unix(1000, 0)
	r := rules(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "again", CreationTimestamp: metav1.NewTime(made)}})
	claim := func(namespace string) ipamv1.ClaimReference {
		return ipamv1.ClaimReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: "IPAddressClaim", Namespace: namespace, Name: "c"}
	}
	for sentence, test := range map[string]struct {
		reader, namespace string
		released          time.Time
		want              bool
	}{
		"of this namespace, in use":          {"again", "again", time.Time{}, true},
		"of this namespace, released":        {"again", "again", made.Add(2 * time.Second), true},
		"of the former one":                  {"again", "again", made.Add(-time.Hour), false},
		"of the former one, a moment before": {"again", "again", made.Add(time.Second), false},
		"of a namespace that is gone":        {"gone", "gone", made, false},
		"of another project":                 {"again", "green-1", made.Add(2 * time.Second), false},
		"of the project's other one, in use": {"blue-1", "blue-2", time.Time{}, true},
	} {
		if got := r.MayNameReleased(t.Context(), test.reader, claim(test.namespace), test.released); got != test.want {
			t.Errorf("%s: %t", sentence, got)
		}
	}
}

// broken is a cache that cannot be read.
func broken(tb testing.TB) *Rules {
	tb.Helper()
	c := fake.NewClientBuilder().WithScheme(scheme(tb)).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("cannot read")
		},
	}).Build()
	return &Rules{Client: c, Platform: "platform", Namespace: "weir-system"}
}

func TestNobodyIsAdmittedWhileNamespacesCannotBeRead(t *testing.T) {
	t.Parallel()
	r, ctx := broken(t), t.Context()
	for i, pool := range []poolspec.Pool{global("blue", consumer), global("blue", gold), global("blue", platform)} {
		if ok, _, err := r.MayClaim(ctx, "blue-1", pool); ok || err == nil {
			t.Error(fmt.Sprint("claim ", i), ok, err)
		}
		if ok, _, err := r.MayCarve(ctx, namespaced("blue-1", absent), pool); ok || err == nil {
			t.Error(fmt.Sprint("carve ", i), ok, err)
		}
	}
	if ok, err := r.Owns(ctx, "blue-1", global("blue", consumer)); ok || err == nil {
		t.Error("owns", ok, err)
	}
	if r.MayName(ctx, "blue-1", ipamv1.ClaimReference{Kind: "IPAddressClaim", Namespace: "blue-2"}) {
		t.Error("names what may be another project's")
	}
	for _, namespace := range []string{"weir-system"} { // needs no reading
		if ok, _, err := r.MayClaim(ctx, namespace, global("platform", platform)); !ok || err != nil {
			t.Error(ok, err)
		}
	}
}
