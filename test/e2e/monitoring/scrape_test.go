// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// patience is how long what must happen may take: only what never happens fails.
const patience = "3m"

var _ = Describe("Prometheus", func() {
	It("scrapes both managers with a token, and every rule, alert and panel has data", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		prometheus := start(ctx, tokenOf(ctx, s.Namespace))
		full := s.Claim("first", "full").Build()
		s.Create(ctx, s.Root("full", "10.1.0.0/32").Build(), s.Root("filling", "10.2.0.0/24").Build(), full)
		s.Ready(ctx, full)
		s.Create(ctx, builder.IPAddressClaim(s.Namespace, "waits", ipamv1.IPPoolKind, "full").Build())

		queries := slices.Concat(recordings(), panelQueries())
		Expect(queries).NotTo(BeEmpty())
		for _, expr := range expressions() {
			queries = append(queries, sides.FindAllString(expr, -1)...)
		}
		made := 0
		Eventually(func(g Gomega) {
			made++ // what is measured as a rate has to go on
			s.Create(ctx, s.Claim(fmt.Sprint("c", made), "filling").Build())
			var silent []string
			for _, query := range queries {
				if !prometheus.hasData(ctx, g, query) {
					silent = append(silent, query)
				}
			}
			g.Expect(silent).To(BeEmpty(), "these have no data")
			g.Expect(prometheus.unhealthy(ctx, g)).To(BeEmpty())
		}, patience, "1s").Should(Succeed())

		for query, value := range map[string]string{
			"weir:managers:count": "2", "weir:leaders:count": "1",
			`weir:claims_exhausted:count{name="full"}`: "1", `weir:pool_used:ratio{name="full"}`: "1", `weir:pool_ready:bool{name="full"}`: "1",
		} {
			Eventually(func(g Gomega) []string { return prometheus.values(ctx, g, query) }, patience, "200ms").Should(Equal([]string{value}), query)
		}
	}, NodeTimeout(10*time.Minute))
})

// sides are the recording rules that an alert compares.
var sides = regexp.MustCompile(`weir:[a-z0-9:_]+`)

// rule is a released rule.
type rule struct{ Alert, Record, Expr string }

func rules() []rule {
	GinkgoHelper()
	var file struct{ Groups []struct{ Rules []rule } }
	Expect(yaml.Unmarshal(ruleFile(), &file)).To(Succeed())
	var all []rule
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

// alerts, recordings and expressions are the names of the alerts, those of the recording rules, and the expressions of the alerts.
func alerts() (names []string) {
	for _, r := range rules() {
		if r.Alert != "" {
			names = append(names, r.Alert)
		}
	}
	return names
}

func recordings() (names []string) {
	for _, r := range rules() {
		if r.Record != "" {
			names = append(names, r.Record)
		}
	}
	return names
}

func expressions() (all []string) {
	for _, r := range rules() {
		if r.Alert != "" {
			all = append(all, r.Expr)
		}
	}
	return all
}

// tokenOf returns a token of a service account that the shipped role is bound to.
func tokenOf(ctx context.Context, namespace string) string {
	GinkgoHelper()
	k := site.Client()
	Expect(k.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "prometheus"}})).To(Succeed())
	Expect(k.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "prometheus"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "weir-system-metrics-reader-role"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "prometheus"}},
	})).To(Succeed())
	config, err := framework.ServiceAccountConfig(ctx, site.Config(), namespace, "prometheus")
	Expect(err).NotTo(HaveOccurred())
	return config.BearerToken
}

// addressOf is an address of this machine.
func addressOf(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// server is a Prometheus that runs until the spec ends.
type server struct{ url string }

// start starts Prometheus, which scrapes the managers and evaluates the released rules each second.
func start(ctx context.Context, token string) *server {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	config, err := yaml.Marshal(map[string]any{
		"global":     map[string]any{"scrape_interval": "1s", "evaluation_interval": "1s"},
		"rule_files": []string{"rules.yaml"},
		"scrape_configs": []any{map[string]any{
			"job_name": "weir", "scheme": "https", "honor_labels": true,
			"authorization":  map[string]any{"credentials_file": "token"},
			"tls_config":     map[string]any{"insecure_skip_verify": true}, // as the ServiceMonitor says
			"static_configs": []any{map[string]any{"targets": targets}},
		}},
	})
	Expect(err).NotTo(HaveOccurred())
	for name, text := range map[string][]byte{"prometheus.yaml": config, "rules.yaml": ruleFile(), "token": []byte(token)} {
		Expect(os.WriteFile(filepath.Join(dir, name), text, 0o600)).To(Succeed())
	}
	port, err := framework.FreePort()
	Expect(err).NotTo(HaveOccurred())
	daemon, err := framework.StartDaemon(framework.DaemonOptions{
		Name: "prometheus", Path: installed("prometheus"), LogPath: filepath.Join(site.Dir(), "prometheus.log"),
		Args: []string{
			"--config.file=" + filepath.Join(dir, "prometheus.yaml"), "--storage.tsdb.path=" + filepath.Join(dir, "data"),
			"--web.listen-address=" + addressOf(port),
		},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(daemon.Stop)
	s := &server{"http://" + addressOf(port)}
	Expect(daemon.Wait(ctx, func(ctx context.Context) error {
		_, err := s.get(ctx, "/-/ready")
		return err
	})).To(Succeed())
	return s
}

// get asks Prometheus.
func (s *server) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, resp.Status, body)
	}
	return body, err
}

// values returns the values of a query's result, which are numbers as text.
func (s *server) values(ctx context.Context, g Gomega, query string) []string {
	body, err := s.get(ctx, "/api/v1/query?query="+url.QueryEscape(query))
	g.Expect(err).NotTo(HaveOccurred())
	var answer struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	g.Expect(json.Unmarshal(body, &answer)).To(Succeed())
	values := make([]string, 0, len(answer.Data.Result))
	for _, series := range answer.Data.Result {
		values = append(values, fmt.Sprint(series.Value[1]))
	}
	return values
}

// hasData reports whether a query returns a number.
func (s *server) hasData(ctx context.Context, g Gomega, query string) bool {
	return slices.ContainsFunc(s.values(ctx, g, query), func(value string) bool { return value != "NaN" })
}

// unhealthy returns what Prometheus says of rules that it could not evaluate.
func (s *server) unhealthy(ctx context.Context, g Gomega) []string {
	body, err := s.get(ctx, "/api/v1/rules")
	g.Expect(err).NotTo(HaveOccurred())
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	g.Expect(json.Unmarshal(body, &answer)).To(Succeed())
	var found []string
	for _, group := range answer.Data.Groups {
		for _, r := range group.Rules {
			if r.Health != "ok" {
				found = append(found, r.Name+": "+r.Health+" "+r.LastError)
			}
		}
	}
	return found
}
