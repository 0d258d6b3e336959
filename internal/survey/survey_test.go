// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// served makes an API server that answers paths with texts, and forbids all others. It has the
// kinds of these groups.
func served(t *testing.T, answers map[string]string, groups ...schema.GroupVersion) *Survey {
	t.Helper()
	return servedBy(t, func(r *http.Request) (string, bool) {
		answer, ok := answers[r.URL.Path]
		return answer, ok
	}, groups...)
}

// servedBy makes an API server whose answers a function gives, which may be called at the same time.
func servedBy(t *testing.T, answers func(*http.Request) (string, bool), groups ...schema.GroupVersion) *Survey {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers(r)
		w.Header().Set("Content-Type", "application/json")
		if !ok {
			w.WriteHeader(http.StatusForbidden)
			answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	mapper := meta.NewDefaultRESTMapper(groups)
	for _, group := range groups {
		mapper.Add(group.WithKind(ipamv1.IPPoolKind), meta.RESTScopeNamespace)
		mapper.Add(group.WithKind(ipamv1.GlobalIPPoolKind), meta.RESTScopeRoot)
		mapper.Add(group.WithKind(ipamv1.IPClaimKind), meta.RESTScopeNamespace)
		mapper.Add(group.WithKind(ipamv1.IPAllocationKind), meta.RESTScopeNamespace)
		mapper.Add(group.WithKind(icv1.InClusterIPPoolKind), meta.RESTScopeNamespace)
		mapper.Add(group.WithKind(icv1.GlobalInClusterIPPoolKind), meta.RESTScopeRoot)
		mapper.Add(group.WithKind("IPAddressClaim"), meta.RESTScopeNamespace)
	}
	s, err := New(&rest.Config{Host: server.URL}, mapper, Scope{Fallback: "team"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	weirPath   = "/apis/ipam.weir.dev/v1alpha1"
	metal3Path = "/apis/ipam.metal3.io/v1alpha1"
	empty      = `{"metadata":{},"items":[]}`
)

func TestNothingIsWritten(t *testing.T) {
	t.Parallel()
	asked := 0
	transport := readOnly{roundTripper(func(*http.Request) (*http.Response, error) {
		asked++
		return nil, errors.New("sent")
	})}
	for _, tc := range []struct {
		method, url string
		isSent      bool
	}{
		{http.MethodGet, "http://a/x", true},
		{http.MethodHead, "http://a/x", true},
		{http.MethodPost, "http://a/x?dryRun=All", true},
		{http.MethodPost, "http://a/x?dryRun=", false},
		{http.MethodPost, "http://a/x", false},
		{http.MethodPut, "http://a/x", false},
		{http.MethodPatch, "http://a/x", false},
		{http.MethodDelete, "http://a/x", false},
	} {
		before := asked
		request, err := http.NewRequestWithContext(t.Context(), tc.method, tc.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if response != nil {
			_ = response.Body.Close()
		}
		if err == nil || (asked > before) != tc.isSent {
			t.Errorf("%s %s: sent %v, error %v", tc.method, tc.url, asked > before, err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestPoolsThatMayNotBeListedAreGaps(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		answers   map[string]string
		isAllowed bool
		gaps      string
	}{
		{"all", map[string]string{weirPath + "/ippools": empty, weirPath + "/globalippools": empty}, true, ""},
		{
			"those of one namespace", map[string]string{weirPath + "/namespaces/team/ippools": empty}, true,
			"you may not list globalippools.ipam.weir.dev, you may not list ippools.ipam.weir.dev of all namespaces",
		},
		{
			"none", nil, false,
			"you may not list globalippools.ipam.weir.dev, you may not list ippools.ipam.weir.dev of all namespaces, " +
				"you may not list ippools.ipam.weir.dev of namespace team",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := served(t, tc.answers, ipamv1.GroupVersion)
			pools, isAllowed, err := s.Pools(t.Context())
			if err != nil || len(pools) != 0 || isAllowed != tc.isAllowed {
				t.Errorf("got %v, %v, %v", pools, isAllowed, err)
			}
			gaps := s.Gaps().List()
			texts := make([]string, 0, len(gaps))
			for _, gap := range gaps {
				texts = append(texts, gap.Text)
			}
			if diff := cmp.Diff(tc.gaps, strings.Join(texts, ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPoolsWithoutWeir(t *testing.T) {
	t.Parallel()
	if _, _, err := served(t, nil).Pools(t.Context()); !errors.Is(err, ErrNoWeir) {
		t.Errorf("got %v", err)
	}
}

func TestPoolsAreRead(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		weirPath + "/globalippools": `{"items":[{"metadata":{"name":"root"},"spec":{"cidr":"10.0.0.0/8","addressSpace":"lab"}}]}`,
		weirPath + "/ippools": `{"metadata":{"resourceVersion":"7"},"items":[
			{"metadata":{"name":"b","namespace":"team"},"spec":{"parentRef":{"kind":"GlobalIPPool","name":"root"}}},
			{"metadata":{"name":"copy","namespace":"team","annotations":{"work.karmada.io/namespace":"karmada-es-edge"}},
			 "spec":{"cidr":"10.9.0.0/16","delegateTo":"edge","parentRef":{"kind":"GlobalIPPool","name":"root"}}},
			{"metadata":{"name":"a","namespace":"team"},"spec":{"addresses":["192.0.2.9","192.0.2.16-192.0.2.31"]},
			 "status":{"conditions":[{"type":"Ready","status":"True","reason":"Available"},{"type":"Exhausted","status":"True"}]}}]}`,
		metal3Path + "/ippools": `{"items":[{"metadata":{"name":"m","namespace":"racks"},"spec":{"pools":[
			{"start":"10.1.0.10","end":"10.1.0.99"},{"subnet":"10.1.1.1/24"}]},"status":{"capacity":200,"availableIPCount":50}}]}`,
	}
	s := served(t, answers, ipamv1.GroupVersion, m3v1.GroupVersion)
	pools, isAllowed, err := s.Pools(t.Context())
	if err != nil || !isAllowed {
		t.Fatal(isAllowed, err)
	}
	got := make([]string, 0, len(pools))
	for _, p := range pools {
		got = append(got, strings.Join([]string{Name(p.Ref), p.Space, p.Block, p.Parent.Name, p.State, p.Capacity.Allocated}, "|"))
	}
	want := []string{
		"GlobalIPPool root|lab|10.0.0.0/8||Unreported|",
		"IPPool.ipam.metal3.io racks/m|metal3/racks/m|10.1.0.10-.99 +1||Unreported|150",
		"IPPool team/copy|default|10.9.0.0/16||Unreported|",
		"IPPool team/a|default|192.0.2.9 +1||Exhausted|",
		"IPPool team/b|lab||root|Unreported|",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if last := pools[1].Addresses.Ranges()[1]; last.String() != "10.1.1.2-10.1.1.255" {
		t.Errorf("a subnet without start is %v", last)
	}
}
