// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

// TestNamesAreNoPaths: what no object can be called does not exist, and nothing is sent for it.
func TestNamesAreNoPaths(t *testing.T) {
	t.Parallel()
	var sent atomic.Int32
	s := servedBy(t, func(*http.Request) (string, bool) {
		sent.Add(1)
		return `{"kind":"IPPool","apiVersion":"ipam.weir.dev/v1alpha1","metadata":{"name":"x"}}`, true
	}, ipamv1.GroupVersion)
	for _, place := range []struct{ namespace, name string }{
		{"team", "../../../../../../../api/v1/namespaces/n/services/s/proxy/x"}, {"team", ".."}, {"team", "."}, {"team", ""},
		{"team", "a/b"}, {"team", "%2e%2e"}, {"..", "nodes"}, {"a/b", "nodes"}, {"", "nodes"},
	} {
		object, presence, err := s.Object(t.Context(), kinds.IPPool, place.namespace, place.name)
		if object != nil || presence != Gone || err != nil {
			t.Errorf("%q of namespace %q: %v, %s, %v", place.name, place.namespace, object, presence, err)
		}
	}
	if n := sent.Load(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	if _, presence, err := s.Object(t.Context(), kinds.GlobalIPPool, "", "fleet"); presence != Present || err != nil || sent.Load() != 1 {
		t.Errorf("%s, %v, %d requests", presence, err, sent.Load())
	}
}

// TestOwnersAreNoPaths: an owner of such a name is shown, and not looked up.
func TestOwnersAreNoPaths(t *testing.T) {
	t.Parallel()
	const name = "../../../../../../../api/v1/namespaces/n/services/s/proxy/x"
	var asked []string
	s := servedBy(t, func(r *http.Request) (string, bool) {
		asked = append(asked, r.URL.Path)
		return "", false
	}, ipamv1.GroupVersion)
	claim := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"namespace":       "team",
		"ownerReferences": []any{map[string]any{"apiVersion": ipamv1.GroupVersion.String(), "kind": "IPPool", "name": name, "uid": "u"}},
	}}}
	owners, err := s.owners(t.Context(), claim)
	if err != nil || len(owners) != 1 || owners[0].Name != name || len(asked) != 0 {
		t.Errorf("owners %v, error %v, asked for %s", owners, err, strings.Join(asked, ", "))
	}
}
