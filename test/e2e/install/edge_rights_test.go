// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// auditTrail is what the API server writes of the managers' requests.
type auditTrail struct{ path string }

// flags are the API server's.
func (a *auditTrail) flags() []string {
	GinkgoHelper()
	policy := filepath.Join(filepath.Dir(a.path), "policy.yaml")
	Expect(os.WriteFile(policy, []byte(`apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, users: ["`+framework.ManagerAccount+`"]}
- {level: None}
`), 0o600)).To(Succeed())
	return []string{"--audit-policy-file=" + policy, "--audit-log-path=" + a.path}
}

// request is one of the trail.
type request struct {
	Verb      string
	ObjectRef struct{ APIGroup, Resource, Name string }
	// ResponseStatus has the HTTP code.
	ResponseStatus struct{ Code int32 }
	RequestURI     string
}

// requests returns all that are complete so far.
func (a *auditTrail) requests() []request {
	GinkgoHelper()
	text, err := os.ReadFile(a.path)
	Expect(err).NotTo(HaveOccurred())
	var all []request
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written
		}
		var r request
		Expect(json.Unmarshal(line, &r)).To(Succeed())
		all = append(all, r)
	}
	return all
}

// expectRightsUsed expects that the managers were forbidden nothing, and that they have used every right on certificates that the set gives
// them, on the objects that it names alone. What is watched is also listed where the API server is older and does not stream what is there already.
func (a *auditTrail) expectRightsUsed(ctx context.Context) {
	GinkgoHelper()
	role, clusterRole := &rbacv1.Role{}, &rbacv1.ClusterRole{}
	Expect(k.Get(ctx, client.ObjectKey{Namespace: framework.ManagerNamespace, Name: servingRole}, role)).To(Succeed())
	Expect(k.Get(ctx, client.ObjectKey{Name: servingCARole}, clusterRole)).To(Succeed())
	granted, resources := sets.New[string](), sets.New[string]()
	for _, rule := range append(role.Rules, clusterRole.Rules...) {
		Expect(rule.Resources).To(HaveLen(1))
		Expect(rule.ResourceNames).To(HaveLen(1))
		resources.Insert(rule.Resources[0])
		for _, verb := range rule.Verbs {
			granted.Insert(verb + " " + rule.Resources[0] + " " + rule.ResourceNames[0])
		}
	}
	used, requests := sets.New[string](), a.requests()
	for _, r := range requests {
		Expect(r.ResponseStatus.Code).NotTo(BeEquivalentTo(http.StatusForbidden), "%+v", r)
		if resources.Has(r.ObjectRef.Resource) {
			used.Insert(r.Verb + " " + r.ObjectRef.Resource + " " + r.ObjectRef.Name)
		}
	}
	Expect(len(requests)).To(BeNumerically(">", 100))
	for right := range granted {
		if watched, isWatch := strings.CutPrefix(right, "watch "); isWatch {
			Expect(granted).To(HaveKey("list " + watched))
			used.Insert("list " + watched)
		}
	}
	Expect(sets.List(used)).To(Equal(sets.List(granted)))
}
