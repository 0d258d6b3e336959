// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"net/http"
	"strings"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// TestChangesAreTold: each event is a change, from the revision of the list on; where all namespaces may not be listed, that to
// fall back on is watched, and what may not be listed at all is not. The end of a watch, and a watch that is forbidden, are errors.
func TestChangesAreTold(t *testing.T) {
	t.Parallel()
	const list = `{"metadata":{"resourceVersion":"7"},"items":[]}`
	for name, c := range map[string]struct {
		watches map[string]string
		changes int
		err     string
	}{
		"events": {map[string]string{
			weirPath + "/ipallocations": `{"type":"ADDED","object":{}}{"type":"MODIFIED","object":{}}{"type":"DELETED","object":{}}`,
			weirPath + "/ippools":       "", weirPath + "/globalippools": "",
		}, 3, "the watch ended"},
		"claims": {map[string]string{
			weirPath + "/ipclaims": `{"type":"MODIFIED","object":{}}`, weirPath + "/ipallocations": "",
		}, 1, "the watch ended"},
		"fallback":  {map[string]string{weirPath + "/namespaces/team/ipallocations": `{"type":"ADDED","object":{}}`}, 1, "the watch ended"},
		"too late":  {map[string]string{weirPath + "/ipallocations": `{"type":"ERROR","object":{"code":410}}`}, 0, "the watch ended"},
		"forbidden": {map[string]string{weirPath + "/ipallocations": "-"}, 0, "watching ipallocations.ipam.weir.dev"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servedBy(t, func(r *http.Request) (string, bool) {
				events, isThere := c.watches[r.URL.Path]
				if isThere && r.URL.Query().Get("watch") == "" {
					return list, true
				}
				return events, isThere && events != "-" && r.URL.Query().Get("resourceVersion") == "7"
			}, ipamv1.GroupVersion)
			changes := make(chan struct{}, 8)
			err := s.Changes(t.Context(), func() {}, func() { changes <- struct{}{} })
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("it ends with %v", err)
			}
			if c.changes > 0 && len(changes) == 0 || len(changes) > c.changes {
				t.Errorf("%d changes, not %d", len(changes), c.changes)
			}
		})
	}
}
