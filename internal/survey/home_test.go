// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	validatingPath = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/weir-validating-webhook-configuration"
	mutatingPath   = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/weir-mutating-webhook-configuration"

	byURL = `{"webhooks":[{"clientConfig":{"url":"https://weir.example/x"}}]}`
)

func byService(namespace string) string {
	return fmt.Sprintf(`{"webhooks":[{"clientConfig":{"service":{"namespace":%q,"name":"weir-webhook-service"}}}]}`, namespace)
}

// TestWeirIsWhereItsWebhooksAre: a Deployment of a tenant with Weir's label, whose namespace comes first, is neither shown nor asked for flags.
func TestWeirIsWhereItsWebhooksAre(t *testing.T) {
	t.Parallel()
	const (
		usual   = "managers [weir-system], missing: false, flags of weir-system: project of weir-system"
		another = "managers [ipam], missing: false, flags of ipam: project of ipam"
		empty   = "managers [], missing: true, flags of empty: platform"
	)
	for name, tc := range map[string]struct {
		named    string
		webhooks map[string]string
		want     string
	}{
		"where webhooks may not be read":          {want: usual},
		"where webhooks call a URL":               {webhooks: map[string]string{validatingPath: byURL, mutatingPath: byURL}, want: usual},
		"where webhooks call a Service":           {webhooks: map[string]string{validatingPath: byService("ipam")}, want: another},
		"where only the mutating one can be read": {webhooks: map[string]string{mutatingPath: byService("ipam")}, want: another},
		"where the user says so":                  {named: "ipam", webhooks: map[string]string{validatingPath: byService("weir-system")}, want: another},
		"where the user names another":            {named: "empty", want: empty},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servedBy(t, func(r *http.Request) (string, bool) {
				if answer, isWebhook := tc.webhooks[r.URL.Path]; isWebhook {
					return answer, true
				}
				return deploymentsOf(r, "a-tenant", "ipam", "weir-system")
			})
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, meta.RESTScopeNamespace)
			s.mapper = mapper
			s.SetHome(tc.named)
			installed, err := s.Installation(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			found := make([]string, 0, len(installed.Managers))
			for _, m := range installed.Managers {
				found = append(found, m.Namespace)
			}
			flags, err := s.Flags(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("managers %v, missing: %t, flags of %s: %s", found, installed.IsMissing, flags.Namespace, flags.Value("platform-project"))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// deploymentsOf answers lists of Deployments with Weir's label, one of each namespace, whose platform project is called so.
func deploymentsOf(r *http.Request, namespaces ...string) (string, bool) {
	place, isList := strings.CutSuffix(r.URL.Path, "/deployments")
	if !isList || r.URL.Query().Get("labelSelector") != managerLabels {
		return "", false
	}
	_, only, _ := strings.Cut(place, "/namespaces/")
	var items []string
	for _, namespace := range namespaces {
		if only == "" || only == namespace {
			items = append(items, fmt.Sprintf(`{"metadata":{"namespace":%q,"name":"m"},"spec":{"template":{"spec":{"containers":[
				{"name":"manager","args":["--platform-project=project of %s"]}]}}}}`, namespace, namespace))
		}
	}
	return `{"items":[` + strings.Join(items, ",") + `]}`, true
}

// TestWeirThatIsNotInTheUsualNamespace: without the right to read where it is, it cannot be called missing.
func TestWeirThatIsNotInTheUsualNamespace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		webhooks map[string]string
		missing  bool
		gaps     int
	}{
		"webhooks may not be read":      {gaps: len(webhooks)},
		"webhooks call a URL":           {webhooks: map[string]string{validatingPath: byURL, mutatingPath: byURL}},
		"webhooks call a Service of it": {webhooks: map[string]string{validatingPath: byService("weir-system")}, missing: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servedBy(t, func(r *http.Request) (string, bool) {
				if answer, isWebhook := tc.webhooks[r.URL.Path]; isWebhook {
					return answer, true
				}
				return deploymentsOf(r, "ipam")
			})
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, meta.RESTScopeNamespace)
			s.mapper = mapper
			installed, err := s.Installation(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if installed.IsMissing != tc.missing || len(s.Gaps().List()) != tc.gaps {
				t.Errorf("missing: %t, gaps %v", installed.IsMissing, s.Gaps().List())
			}
		})
	}
}
