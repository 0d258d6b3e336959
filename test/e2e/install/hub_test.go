// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/propagator"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// hubHeading is where the guide has the commands for such a hub.
const hubHeading = "### At a hub whose API server runs no pods"

var (
	propagationPolicy = schema.GroupVersionKind{Group: "policy.karmada.io", Version: "v1alpha1", Kind: "ClusterPropagationPolicy"}
	certManager       = schema.GroupVersion{Group: "cert-manager.io", Version: "v1"}
)

var _ = Describe("The two parts for a hub whose API server runs no pods", func() {
	It("have each object of the usual set with the component for hubs, and call webhooks by URL", func(ctx SpecContext) {
		whole := byName(kustomized(ctx, "resources: [../config/default]\ncomponents: [../config/components/federation]"))
		host, server := byName(kustomized(ctx, "resources: [../config/hub/host]")), byName(kustomized(ctx, "resources: [../config/hub/apiserver]"))
		for name, object := range whole {
			inHost, inServer := host[name], server[name]
			switch {
			case slices.Contains([]string{"Namespace weir-system", "ServiceAccount weir-system-manager"}, name):
				Expect(inHost).To(Equal(object), name)
				Expect(inServer).To(Equal(object), name)
			case strings.Contains(name, "WebhookConfiguration "):
				Expect(inHost).To(BeNil(), name)
				Expect(byURL(inServer)).To(ConsistOf(byService(object)...), name)
			case slices.Contains([]string{"Deployment weir-controller-manager", "Certificate weir-serving-cert"}, name):
				Expect(inHost).NotTo(BeNil(), name)
				Expect(inServer).To(BeNil(), name)
			default:
				Expect(slices.DeleteFunc([]*unstructured.Unstructured{inHost, inServer}, isNil)).To(ConsistOf(object), name)
			}
			delete(host, name)
			delete(server, name)
		}
		Expect(host).To(And(HaveLen(2), HaveKey("Certificate weir-webhook-ca"), HaveKey("Issuer weir-webhook-ca")))
		Expect(server).To(And(HaveLen(1), HaveKey("Secret weir-manager-token")))
	}, NodeTimeout(time.Minute))

	It("serve the samples for two members at one API server, from managers in another cluster, by the commands of the guide", func(ctx SpecContext) {
		start(ctx, framework.SiteOptions{Install: []framework.Step{framework.InstallCertManagerCRDs}})
		host := site
		start(ctx, framework.SiteOptions{Options: framework.Options{ControllerManager: true}})
		served := installHub(ctx, host, site)
		serveHub(ctx, host, served)

		By("creating the samples, which the policies select")
		permissive, err := framework.ParseManifests([]byte(propagator.PermissiveCRD(propagationPolicy, "clusterpropagationpolicies", "Cluster")))
		Expect(err).NotTo(HaveOccurred())
		Expect(framework.Apply(ctx, site.Config(), permissive...)).To(Succeed())
		policies := built(ctx, "karmada")
		Expect(framework.Apply(ctx, site.Config(), policies...)).To(Succeed())
		samples := built(ctx, "karmada/samples")
		Eventually(func() error { return framework.Apply(ctx, site.Config(), samples...) }, "1m", "200ms").Should(Succeed())
		selected := map[string][]string{}
		for _, policy := range policies {
			member, pools := carried(ctx, policy)
			selected[member] = pools
		}
		Expect(selected).To(Equal(map[string][]string{"edge-a": {"IPPool edge-a 10.0.0.0/16"}, "edge-b": {"GlobalIPPool edge-b 10.1.0.0/16"}}))
		pool := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "edge-a"}}
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			g.Expect(pool.Status.Conditions).To(ContainElement(And(HaveField("Type", "Ready"), HaveField("Reason", "Delegated"))))
		}, edgePatience, "100ms").Should(Succeed())
	}, NodeTimeout(5*time.Minute))
})

func isNil(object *unstructured.Unstructured) bool { return object == nil }

// byName returns objects by their kinds and names, of which there are no two.
func byName(text []byte) map[string]*unstructured.Unstructured {
	GinkgoHelper()
	objects, err := framework.ParseManifests(text)
	Expect(err).NotTo(HaveOccurred())
	named := map[string]*unstructured.Unstructured{}
	for _, object := range objects {
		named[object.GetKind()+" "+object.GetName()] = object
	}
	Expect(named).To(HaveLen(len(objects)))
	return named
}

// built returns what a folder of config has, in its order.
func built(ctx context.Context, folder string) []*unstructured.Unstructured {
	GinkgoHelper()
	objects, err := framework.ParseManifests(kustomized(ctx, "resources: [../config/"+folder+"]\nsortOptions: {order: fifo}"))
	Expect(err).NotTo(HaveOccurred())
	return objects
}

// byURL and byService return the webhooks of a configuration, with the path in place of whom they call. Those by URL are not called otherwise.
func byURL(configuration *unstructured.Unstructured) []any {
	GinkgoHelper()
	return webhooksOf(configuration, func(called map[string]any) any {
		Expect(called).To(And(HaveLen(2), HaveKeyWithValue("caBundle", "${WEIR_WEBHOOK_CA}")))
		text, _ := called["url"].(string)
		path, found := strings.CutPrefix(text, "https://${WEIR_WEBHOOK_HOST}:443")
		Expect(found).To(BeTrue(), text)
		return path
	})
}

func byService(configuration *unstructured.Unstructured) []any {
	GinkgoHelper()
	return webhooksOf(configuration, func(called map[string]any) any {
		service, _ := called["service"].(map[string]any)
		return service["path"]
	})
}

func webhooksOf(configuration *unstructured.Unstructured, path func(called map[string]any) any) []any {
	GinkgoHelper()
	Expect(configuration).NotTo(BeNil())
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	Expect(err).NotTo(HaveOccurred())
	for _, w := range webhooks {
		webhook, _ := w.(map[string]any)
		called, _ := webhook["clientConfig"].(map[string]any)
		webhook["clientConfig"] = path(called)
	}
	return webhooks
}

// installHub runs what the guide has an administrator run, in a folder with the release's files. It returns the folder of the webhooks' certificate.
func installHub(ctx context.Context, host, server *framework.Site) string {
	GinkgoHelper()
	guide, err := framework.ReadGuide("federation.md")
	Expect(err).NotTo(HaveOccurred())
	blocks, err := guide.Commands(hubHeading)
	Expect(err).NotTo(HaveOccurred())
	Expect(blocks).To(HaveLen(5), "names, host, API server, kubeconfig, rollout")
	release, err := framework.ReleaseDir()
	Expect(err).NotTo(HaveOccurred())
	kubectl, err := framework.Binary("kubectl")
	Expect(err).NotTo(HaveOccurred())
	made := make(chan string, 1)
	go func() {
		defer GinkgoRecover()
		made <- certify(ctx, host)
	}()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", strings.Join(blocks[1:4], "\n"))
	cmd.Dir = release
	cmd.Env = append(os.Environ(), "KUBECONFIG="+suite.Contexts(map[string]*framework.Site{"host": host, "hub": server}),
		"PATH="+filepath.Dir(kubectl)+":"+os.Getenv("PATH"), "NO_PROXY=*", "WEIR_WEBHOOK_HOST=localhost", "HUB_SERVER="+server.Config().Host)
	out, err := cmd.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	return <-made
}

// certify does what cert-manager does with the host's Certificates: the one that Weir serves is signed by the CA that the other one names. It
// returns a folder with the former.
func certify(ctx context.Context, host *framework.Site) string {
	GinkgoHelper()
	serving, ca := awaitCertManagers(ctx, host, "Certificate", "weir-serving-cert"), awaitCertManagers(ctx, host, "Certificate", "weir-webhook-ca")
	issuerName, _, _ := unstructured.NestedString(serving.Object, "spec", "issuerRef", "name")
	issuer := awaitCertManagers(ctx, host, "Issuer", issuerName)
	caSecret, _, _ := unstructured.NestedString(issuer.Object, "spec", "ca", "secretName")
	Expect(ca.Object["spec"]).To(And(HaveKeyWithValue("secretName", caSecret), HaveKeyWithValue("isCA", true)))
	names, _, _ := unstructured.NestedStringSlice(serving.Object, "spec", "dnsNames")
	folder := GinkgoT().TempDir()
	bundle, err := framework.ServingCerts(folder, names...)
	Expect(err).NotTo(HaveOccurred())
	servingSecret, _, _ := unstructured.NestedString(serving.Object, "spec", "secretName")
	for name, data := range map[string]map[string][]byte{caSecret: {"ca.crt": bundle}, servingSecret: {"ca.crt": bundle}} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: framework.ManagerNamespace, Name: name}, Data: data}
		Expect(host.Client().Create(ctx, secret)).To(Succeed())
	}
	return folder
}

// awaitCertManagers waits for an object of cert-manager's kinds.
func awaitCertManagers(ctx context.Context, host *framework.Site, kind, name string) *unstructured.Unstructured {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(certManager.WithKind(kind))
	Eventually(func() error {
		return host.Client().Get(ctx, client.ObjectKey{Namespace: framework.ManagerNamespace, Name: name}, object)
	}, edgePatience, "100ms").Should(Succeed())
	return object
}

// serveHub does what the host's kubelets do: it starts the managers with the Deployment's flags and the mounted Secrets. And it leads what the
// hub's API server calls to the first of them, at the name that it expects in the certificate.
func serveHub(ctx context.Context, host *framework.Site, served string) {
	GinkgoHelper()
	deployment, secret := &appsv1.Deployment{}, &corev1.Secret{}
	Expect(host.Client().Get(ctx, client.ObjectKey{Namespace: framework.ManagerNamespace, Name: "weir-controller-manager"}, deployment)).To(Succeed())
	pod := deployment.Spec.Template.Spec
	Expect(pod.AutomountServiceAccountToken).To(HaveValue(BeFalse()))
	mounted, volume := pod.Containers[0].VolumeMounts[1].MountPath, pod.Volumes[1].Secret.SecretName
	Expect(host.Client().Get(ctx, client.ObjectKey{Namespace: framework.ManagerNamespace, Name: volume}, secret)).To(Succeed())
	folder := GinkgoT().TempDir()
	for name, data := range secret.Data {
		Expect(os.WriteFile(filepath.Join(folder, name), data, 0o600)).To(Succeed())
	}
	args := make([]string, 0, len(pod.Containers[0].Args)+2)
	for _, arg := range pod.Containers[0].Args {
		args = append(args, strings.Replace(arg, mounted, folder, 1))
	}
	args = append(args, "--leader-elect=true", "--diagnostics-address=0", "--webhook-cert-dir="+served)
	managers := make([]*framework.Manager, 0, *deployment.Spec.Replicas)
	for range *deployment.Spec.Replicas {
		m, err := site.Launch(ctx, framework.ManagerOptions{Args: args, Config: host.Config()}) // the flag decides, not the environment
		Expect(err).NotTo(HaveOccurred())
		managers = append(managers, m)
	}
	DeferCleanup(func() { Expect(site.KillManagers()).To(Succeed()) })
	for _, m := range managers {
		Expect(m.WaitReady(ctx)).To(Succeed())
	}
	_, port, err := net.SplitHostPort(managers[0].WebhookAddress())
	Expect(err).NotTo(HaveOccurred())
	mutating, validating := configurations()
	suite.Change(ctx, k, mutating, func() {
		for i := range mutating.Webhooks {
			mutating.Webhooks[i].ClientConfig.URL = atPort(mutating.Webhooks[i].ClientConfig, port)
		}
	})
	suite.Change(ctx, k, validating, func() {
		for i := range validating.Webhooks {
			validating.Webhooks[i].ClientConfig.URL = atPort(validating.Webhooks[i].ClientConfig, port)
		}
	})
}

// atPort returns the URL that is called, with another port.
func atPort(called admissionregistrationv1.WebhookClientConfig, port string) *string {
	GinkgoHelper()
	u, err := url.Parse(*called.URL)
	Expect(err).NotTo(HaveOccurred())
	Expect(u.Host).To(Equal("localhost:443"))
	u.Host = net.JoinHostPort(u.Hostname(), port)
	text := u.String()
	return &text
}

// carried returns the member that a policy places objects at, and the delegated pools that it selects at the hub, with their blocks. A policy
// says nothing else, such as that copies stay.
func carried(ctx context.Context, policy *unstructured.Unstructured) (member string, pools []string) {
	GinkgoHelper()
	var spec struct {
		ResourceSelectors []struct {
			APIVersion    string                `json:"apiVersion"`
			Kind          string                `json:"kind"`
			LabelSelector *metav1.LabelSelector `json:"labelSelector"`
		} `json:"resourceSelectors"`
		Placement struct {
			ClusterAffinity struct {
				ClusterNames []string `json:"clusterNames"`
			} `json:"clusterAffinity"`
		} `json:"placement"`
	}
	text, _ := policy.Object["spec"].(map[string]any)
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(text, &spec, true)).To(Succeed())
	for _, selector := range spec.ResourceSelectors {
		labels, err := metav1.LabelSelectorAsSelector(selector.LabelSelector)
		Expect(err).NotTo(HaveOccurred())
		found := &unstructured.UnstructuredList{}
		found.SetAPIVersion(selector.APIVersion)
		found.SetKind(selector.Kind + "List")
		Expect(k.List(ctx, found, client.MatchingLabelsSelector{Selector: labels})).To(Succeed())
		for i := range found.Items {
			cidr, _, _ := unstructured.NestedString(found.Items[i].Object, "spec", "cidr")
			pools = append(pools, fmt.Sprintf("%s %s %s", selector.Kind, found.Items[i].GetName(), cidr))
		}
	}
	Expect(spec.Placement.ClusterAffinity.ClusterNames).To(HaveLen(1))
	return spec.Placement.ClusterAffinity.ClusterNames[0], pools
}
