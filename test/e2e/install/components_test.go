// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

var _ = Describe("The components for the webhooks' port", func() {
	BeforeEach(onRelease)

	It("let the API servers' addresses in, and have the manager ask for their certificates", func(ctx SpecContext) {
		out := kustomized(ctx, `
resources: [../config/default]
components: [../config/components/networkpolicy-ipblock, ../config/components/clientca]
patches:
- target: {kind: NetworkPolicy, name: weir-controller-manager}
  patch: |-
    - {op: replace, path: /spec/ingress/0/from/0/ipBlock/cidr, value: 203.0.113.0/28}
`)
		objects, err := framework.ParseManifests(out)
		Expect(err).NotTo(HaveOccurred())
		policy, deployment := &networkingv1.NetworkPolicy{}, &appsv1.Deployment{}
		for _, o := range objects {
			switch o.GetKind() {
			case "NetworkPolicy":
				Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, policy, true)).To(Succeed())
				Expect(k.Create(ctx, o, client.DryRunAll)).To(Succeed())
			case "Deployment":
				Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, deployment, true)).To(Succeed())
			}
		}

		from := map[string][]networkingv1.NetworkPolicyPeer{}
		for _, rule := range policy.Spec.Ingress {
			for _, port := range rule.Ports {
				Expect(from).NotTo(HaveKey(port.Port.StrVal))
				from[port.Port.StrVal] = rule.From
			}
		}
		Expect(from).To(And(HaveLen(3), HaveKeyWithValue("healthz", BeEmpty()), HaveKeyWithValue("metrics", HaveLen(1))))
		Expect(from["webhook-server"]).To(ConsistOf(networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "203.0.113.0/28"}}))

		pod := deployment.Spec.Template.Spec
		Expect(pod.Containers[0].Args).To(ContainElements(
			"--webhook-client-ca-file=/etc/weir/webhook-client-ca/ca.crt", "--webhook-client-name=kube-apiserver-webhook-client"))
		Expect(pod.Containers[0].VolumeMounts).To(ContainElement(HaveField("MountPath", "/etc/weir/webhook-client-ca")))
		Expect(pod.Volumes).To(ContainElement(HaveField("VolumeSource.ConfigMap.Name", "weir-webhook-client-ca")))
	})
})

var _ = Describe("Every set of components", func() {
	It("has CRDs that clusterctl move looks at, whatever installs them", func() {
		release, err := framework.ReleaseDir()
		Expect(err).NotTo(HaveOccurred())
		files, err := filepath.Glob(filepath.Join(release, "*.yaml"))
		Expect(err).NotTo(HaveOccurred())
		sets := map[string]int{}
		for _, file := range files {
			objects, err := framework.ReadManifests(file)
			Expect(err).NotTo(HaveOccurred())
			for _, o := range objects {
				if o.GetKind() == "CustomResourceDefinition" {
					sets[filepath.Base(file)]++
					Expect(o.GetLabels()).To(HaveKeyWithValue("clusterctl.cluster.x-k8s.io", ""), "%s: %s", file, o.GetName())
				}
			}
		}
		Expect(sets).To(HaveLen(7))
	})
})

// kustomized renders an overlay, which names folders of the repository by ../.
func kustomized(ctx context.Context, overlay string) []byte {
	GinkgoHelper()
	kustomize, err := framework.Binary("kustomize")
	Expect(err).NotTo(HaveOccurred())
	folder, err := os.MkdirTemp(repository, "out-overlay-") // kustomize takes relative paths only
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, folder)
	Expect(os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(overlay), 0o600)).To(Succeed())
	out, err := exec.CommandContext(ctx, kustomize, "build", folder).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	return out
}
