// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// The names in the component set for edges.
const (
	servingSecret = "weir-webhook-serving-cert"
	servingRole   = "weir-system-serving-cert"
	servingCARole = "weir-system-serving-ca"
	edgePatience  = "2m"
)

// expiring is less than what cert-controller leaves a certificate before it replaces it, 90 days.
const expiring = 80 * 24 * time.Hour

var _ = Describe("The component set for an edge", func() {
	It("serves a delegated pool without Cluster API and cert-manager, and replaces its certificates without a failed call", func(ctx SpecContext) {
		trail := &auditTrail{path: filepath.Join(GinkgoT().TempDir(), "audit.log")}
		start(ctx, framework.SiteOptions{Options: framework.Options{APIServerArgs: trail.flags()}})
		applyGuide(ctx)
		edge := serveEdge(ctx)

		By("handing out of a pool that was delegated to it")
		pool := builder.IPPool(metav1.NamespaceDefault, "team").WithCIDR("10.0.0.0/16").WithParent(ipamv1.GlobalIPPoolKind, "", "plan").
			DelegatedTo("edge-a").Build()
		Eventually(func() error { return k.Create(ctx, pool) }, edgePatience, "100ms").Should(Succeed())
		work := &load{pool: pool.Name}
		work.create(ctx, 0)
		Expect(work.failures).To(BeEmpty())
		claim := &ipamv1.IPClaim{}
		Expect(k.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "load-0-1"}, claim)).To(Succeed())
		Expect(claim.Spec.CIDR).To(HavePrefix("10.0."))

		By("replacing certificates while claims are made")
		stop := work.start(ctx)
		defer stop()
		edge.replaced(ctx, work, expireCertificate)
		edge.replaced(ctx, work, expireCA)
		applyGuide(ctx)
		edge.replaced(ctx, work, expireCA)
		stop()
		Expect(work.failures).To(BeEmpty())
		framework.Account(fmt.Sprintf("edge: %d claims were made while 3 certificates were replaced, 2 of them with their CA", work.made.Load()))

		By("using each of its rights, and no other")
		trail.expectRightsUsed(ctx)
	}, NodeTimeout(8*time.Minute))
})

// applyGuide runs what the guide has an administrator run, in a folder with the release's files.
func applyGuide(ctx context.Context) {
	GinkgoHelper()
	guide, err := framework.ReadGuide("federation.md")
	Expect(err).NotTo(HaveOccurred())
	blocks, err := guide.Commands("### On an edge without Cluster API and cert-manager")
	Expect(err).NotTo(HaveOccurred())
	release, err := framework.ReleaseDir()
	Expect(err).NotTo(HaveOccurred())
	kubectl, err := framework.Binary("kubectl")
	Expect(err).NotTo(HaveOccurred())
	cmd := exec.CommandContext(ctx, "bash", "-eo", "pipefail", "-c", blocks[0])
	cmd.Dir = release
	cmd.Env = append(os.Environ(), "KUBECONFIG="+contextNamed(ctx, "edge-a"), "PATH="+filepath.Dir(kubectl)+":"+os.Getenv("PATH"), "NO_PROXY=*")
	out, err := cmd.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
}

// contextNamed returns a kubeconfig of the site whose context has a name.
func contextNamed(ctx context.Context, name string) string {
	GinkgoHelper()
	text, err := os.ReadFile(site.KubeconfigPath())
	Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(os.WriteFile(path, text, 0o600)).To(Succeed())
	current, err := site.Kubectl(ctx, "", "config", "current-context", "--kubeconfig="+path)
	Expect(err).NotTo(HaveOccurred())
	_, err = site.Kubectl(ctx, "", "config", "rename-context", strings.TrimSpace(current), name, "--kubeconfig="+path)
	Expect(err).NotTo(HaveOccurred())
	return path
}

// edge is what was installed on one, with managers as its Deployment has them.
type edge struct {
	address string
	last    *x509.Certificate
}

// serveEdge does what kubelets and kube-proxy do: it starts both managers with the Deployment's flags and the mounted Secret, and leads the Service
// to the first.
func serveEdge(ctx context.Context) *edge {
	GinkgoHelper()
	folder, following := GinkgoT().TempDir(), context.WithoutCancel(ctx)
	following, stop := context.WithCancel(following)
	DeferCleanup(stop)
	go wait.UntilWithContext(following, (&mounted{folder: folder}).update, time.Second)
	deployment := &appsv1.Deployment{}
	Expect(k.Get(ctx, client.ObjectKey{Namespace: framework.ManagerNamespace, Name: "weir-controller-manager"}, deployment)).To(Succeed())
	args := slices.Concat(deployment.Spec.Template.Spec.Containers[0].Args,
		[]string{"--leader-elect=true", "--diagnostics-address=0", "--webhook-cert-dir=" + folder})
	managers := make([]*framework.Manager, 0, *deployment.Spec.Replicas)
	for range *deployment.Spec.Replicas {
		m, err := site.Launch(ctx, framework.ManagerOptions{Args: args})
		Expect(err).NotTo(HaveOccurred())
		managers = append(managers, m)
	}
	DeferCleanup(func() { Expect(site.KillManagers()).To(Succeed()) })
	Expect(managers).To(HaveLen(2))
	for _, m := range managers {
		Expect(m.WaitReady(ctx)).To(Succeed())
	}
	e := &edge{address: managers[0].WebhookAddress()}
	lead(ctx, e.address)
	e.last = e.served(ctx)
	return e
}

// lead has API servers reach the webhooks' Service at an address, without changing the name that they expect in the certificate.
func lead(ctx context.Context, address string) {
	GinkgoHelper()
	host, text, err := net.SplitHostPort(address)
	Expect(err).NotTo(HaveOccurred())
	number, err := strconv.Atoi(text)
	Expect(err).NotTo(HaveOccurred())
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: framework.ManagerNamespace, Name: "weir-webhook-service"}}
	suite.Change(ctx, k, service, func() {
		service.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: host}
	})
	port := ptr.To(int32(number))
	mutating, validating := configurations()
	suite.Change(ctx, k, mutating, func() {
		for i := range mutating.Webhooks {
			mutating.Webhooks[i].ClientConfig.Service.Port = port
		}
	})
	suite.Change(ctx, k, validating, func() {
		for i := range validating.Webhooks {
			validating.Webhooks[i].ClientConfig.Service.Port = port
		}
	})
}

func configurations() (*admissionregistrationv1.MutatingWebhookConfiguration, *admissionregistrationv1.ValidatingWebhookConfiguration) {
	return &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "weir-mutating-webhook-configuration"}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "weir-validating-webhook-configuration"}}
}

// served returns the certificate that the first manager serves.
func (e *edge) served(ctx context.Context) *x509.Certificate {
	var leaf *x509.Certificate
	dialer := tls.Dialer{Config: &tls.Config{
		InsecureSkipVerify: true, // it is looked at, not trusted
		VerifyPeerCertificate: func(chain [][]byte, _ [][]*x509.Certificate) (err error) {
			leaf, err = x509.ParseCertificate(chain[0])
			return err
		},
	}}
	conn, err := dialer.DialContext(ctx, "tcp", e.address)
	if err == nil {
		_ = conn.Close()
	}
	return leaf
}

// replaced has a certificate expire soon, and waits until another is served that does not, and claims were made since.
func (e *edge) replaced(ctx context.Context, work *load, expire func(context.Context)) {
	GinkgoHelper()
	expire(ctx)
	Eventually(func(g Gomega) {
		now := e.served(ctx)
		g.Expect(now).NotTo(BeNil())
		g.Expect(now.Equal(e.last)).To(BeFalse())
		g.Expect(time.Until(now.NotAfter)).To(BeNumerically(">", expiring))
		e.last = now
	}, edgePatience, "100ms").Should(Succeed())
	since := work.made.Load()
	Eventually(work.made.Load, edgePatience, "20ms").Should(BeNumerically(">=", since+20))
}

// expireCertificate has the certificate in the Secret expire soon.
func expireCertificate(ctx context.Context) {
	GinkgoHelper()
	resign(ctx, corev1.TLSCertKey)
}

// expireCA has the CA in the Secret expire soon: with its key and name it is the same to who trusts it.
func expireCA(ctx context.Context) {
	GinkgoHelper()
	resign(ctx, "ca.crt")
}

// resign has the CA sign one of the Secret's certificates again, for a shorter time.
func resign(ctx context.Context, key string) {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: framework.ManagerNamespace, Name: servingSecret}}
	suite.Change(ctx, k, secret, func() {
		parse := func(key string) (*x509.Certificate, []byte) {
			block, rest := pem.Decode(secret.Data[key])
			certificate, err := x509.ParseCertificate(block.Bytes)
			Expect(err).NotTo(HaveOccurred())
			return certificate, rest
		}
		block, _ := pem.Decode(secret.Data["ca.key"])
		signer, err := x509.ParsePKCS1PrivateKey(block.Bytes)
		Expect(err).NotTo(HaveOccurred())
		authority, _ := parse("ca.crt")
		template, rest := parse(key)
		public := template.PublicKey
		template.NotAfter = time.Now().Add(expiring)
		der, err := x509.CreateCertificate(rand.Reader, template, authority, public, signer)
		Expect(err).NotTo(HaveOccurred())
		secret.Data[key] = append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), rest...)
	})
}

// mounted is the folder that a Secret is mounted at, as a kubelet keeps it: files are links into a folder that is replaced at once.
type mounted struct {
	folder, version string
}

func (m *mounted) update(ctx context.Context) {
	secret := &corev1.Secret{}
	if err := k.Get(ctx, client.ObjectKey{Namespace: framework.ManagerNamespace, Name: servingSecret}, secret); err != nil || secret.ResourceVersion == m.version {
		return
	}
	before, next := filepath.Join(m.folder, "..v"+m.version), "..v"+secret.ResourceVersion
	err := os.Mkdir(filepath.Join(m.folder, next), 0o700)
	for name, data := range secret.Data {
		err = errors.Join(err, os.WriteFile(filepath.Join(m.folder, next, name), data, 0o600))
	}
	err = errors.Join(err, os.Symlink(next, filepath.Join(m.folder, "..data_tmp")),
		os.Rename(filepath.Join(m.folder, "..data_tmp"), filepath.Join(m.folder, "..data")))
	for name := range secret.Data {
		_ = os.Symlink(filepath.Join("..data", name), filepath.Join(m.folder, name)) // it may be there
	}
	if err == nil {
		m.version = secret.ResourceVersion
		_ = os.RemoveAll(before)
	}
}

// load makes claims, and counts.
type load struct {
	pool        string
	tried, made atomic.Int64

	mu       sync.Mutex
	failures []string
}

// create makes one claim.
func (l *load) create(ctx context.Context, of int) {
	claim := builder.IPClaim(metav1.NamespaceDefault, fmt.Sprintf("load-%d-%d", of, l.tried.Add(1))).From(ipamv1.IPPoolKind, l.pool).Build()
	err := k.Create(ctx, claim)
	if err == nil {
		l.made.Add(1)
	} else if ctx.Err() == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.failures = append(l.failures, err.Error())
	}
}

// start makes claims, four at once, until it is stopped.
func (l *load) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	for worker := range 4 {
		done.Go(func() {
			wait.UntilWithContext(ctx, func(ctx context.Context) { l.create(ctx, worker+1) }, 10*time.Millisecond)
		})
	}
	return func() {
		cancel()
		done.Wait()
	}
}
