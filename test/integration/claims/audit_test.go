// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// trail keeps what the manager logs as its audit trail, and as errors.
type trail struct {
	mu sync.Mutex
	// lines are the message and the keys and values of each.
	lines  []map[string]string
	errors []string
}

// logged is the trail of the suite's manager.
var logged = &trail{}

// sink passes a log on, and notes what belongs to the trail.
type sink struct {
	logr.LogSink

	name   string
	values []any
	trail  *trail
}

func (s sink) WithName(name string) logr.LogSink {
	return sink{s.LogSink.WithName(name), name, s.values, s.trail}
}

func (s sink) WithValues(values ...any) logr.LogSink {
	return sink{s.LogSink.WithValues(values...), s.name, append(slices.Clone(s.values), values...), s.trail}
}

func (s sink) Info(level int, message string, values ...any) {
	s.LogSink.Info(level, message, values...)
	if s.name != "audit" {
		return
	}
	line := map[string]string{"msg": message}
	for i := 0; i+1 < len(values); i += 2 {
		line[fmt.Sprint(values[i])] = fmt.Sprint(values[i+1])
	}
	s.trail.mu.Lock()
	defer s.trail.mu.Unlock()
	s.trail.lines = append(s.trail.lines, line)
}

func (s sink) Error(err error, message string, values ...any) {
	s.LogSink.Error(err, message, values...)
	s.trail.mu.Lock()
	defer s.trail.mu.Unlock()
	s.trail.errors = append(s.trail.errors, fmt.Sprint(message, err, s.values, values))
}

// last returns the last line about a claim or pool in a namespace; nil if there is none.
func (t *trail) last(kind, ns, name string) map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, line := range slices.Backward(t.lines) {
		if line["claim"] == kind+"/"+ns+"/"+name {
			return maps.Clone(line)
		}
	}
	return nil
}

// of returns what was told of a claim or pool in a namespace: message, reason and prefix of each line.
func (t *trail) of(kind, ns, name string) []string { return t.where("claim", kind+"/"+ns+"/"+name) }

// where does so of the lines with that value.
func (t *trail) where(key, value string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var told []string
	for _, line := range t.lines {
		if line[key] == value {
			told = append(told, strings.TrimSpace(line["msg"]+" "+line["reason"]+" "+line["prefix"]))
		}
	}
	return told
}

// errorsAbout returns the errors that name the namespace, but for events that were on their way when it began to end: client-go logs
// those itself.
func (t *trail) errorsAbout(ns string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.errors), func(e string) bool {
		isAbout := strings.Contains(e, ns+"/") || strings.Contains(e, " "+ns+" ")
		return !isAbout || strings.HasPrefix(e, "Server rejected event") && strings.Contains(e, "because it is being terminated")
	})
}

var _ = Describe("The audit trail", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = newBareNamespace(ctx) })

	told := func(kind, name string, lines ...string) {
		GinkgoHelper()
		Eventually(func() []string { return logged.of(kind, ns, name) }, "1m", "100ms").Should(HaveExactElements(lines))
	}

	It("tells of a claim's address when it is handed out, let go of, and free again", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/24", AddressSpace: ns, Allocation: &ipamv1.AllocationPolicy{CooldownSeconds: ptr.To[int32](1)},
		}))
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		answered(ctx, claim)
		told("IPPool", "p", "Allocated Requested 10.1.0.0/24")
		told("IPAddressClaim", "a", "Allocated Requested 10.1.0.1/32")
		Expect(logged.last("IPAddressClaim", ns, "a")).To(Equal(map[string]string{
			"msg": "Allocated", "reason": "Requested", "address": "10.1.0.1", "prefix": "10.1.0.1/32", "addressSpace": ns,
			"pool": "IPPool/" + ns + "/p", "poolGroup": "ipam.weir.dev", "claim": "IPAddressClaim/" + ns + "/a", "claimGroup": "ipam.cluster.x-k8s.io",
			"claimUID": string(claim.UID), "allocation": ns + "/" + records(ctx, ns)[0].Name,
		}))
		Expect(k.Delete(ctx, claim)).To(Succeed())
		told("IPAddressClaim", "a", "Allocated Requested 10.1.0.1/32", "Released Cooling 10.1.0.1/32", "Released CooledDown 10.1.0.1/32")
		Expect(k.Delete(ctx, pool)).To(Succeed())
		told("IPPool", "p", "Allocated Requested 10.1.0.0/24", "Released Gone 10.1.0.0/24")
	})

	It("tells of a refusal once, until it changes", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/32", AddressSpace: ns}))
		first := create(ctx, newClaim(ns, "first", "IPPool", "p"))
		answered(ctx, first)
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		ready(ctx, claim, metav1.ConditionFalse, "PoolExhausted")
		for n := range 3 {
			change(ctx, claim, func() { claim.Labels = map[string]string{"looked": fmt.Sprint(n)} })
		}
		change(ctx, pool, func() { pool.Spec.Mode = ipamv1.DrainingMode })
		ready(ctx, claim, metav1.ConditionFalse, "PoolNotReady")
		told("IPAddressClaim", "a", "Refused PoolExhausted", "Refused PoolNotReady")
		overlapping := create(ctx, newPool(ns, "q", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		poolReady(ctx, overlapping, metav1.ConditionFalse, "Overlap")
		told("IPPool", "q", "Refused Overlap 10.1.0.0/24")
	})

	It("tells of IPClaims and carved pools, of what is retained, and of what is adopted", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/24", AddressSpace: ns, Allocation: &ipamv1.AllocationPolicy{MinPrefixLength: ptr.To[int32](28)},
		}))
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
		first := newIPClaim(ns, "a", "IPPool", "p")
		first.Spec.ReclaimPolicy = ipamv1.ClaimReclaimRetain
		bound(ctx, create(ctx, first))
		prefix := first.Spec.CIDR
		Expect(k.Delete(ctx, first)).To(Succeed())
		gone(ctx, first)
		told("IPClaim", "a", "Allocated Requested "+prefix, "Released Retained "+prefix)
		bound(ctx, create(ctx, newIPClaim(ns, "a", "IPPool", "p")))
		told("IPClaim", "a", "Allocated Requested "+prefix, "Released Retained "+prefix, "Allocated Requested "+prefix, "Released RetentionEnded "+prefix)

		child := create(ctx, newPool(ns, "child", ipamv1.IPPoolSpec{ParentRef: &ipamv1.ParentReference{Kind: "IPPool", Name: "p"}, PrefixLength: ptr.To[int32](28)}))
		poolReady(ctx, child, metav1.ConditionTrue, "Available")
		told("IPPool", "child", "Allocated Requested "+child.Spec.CIDR)
		Expect(k.Delete(ctx, child)).To(Succeed())
		told("IPPool", "child", "Allocated Requested "+child.Spec.CIDR, "Released Gone "+child.Spec.CIDR)

		arrived := map[string]string{ipamv1.ArrivedAnnotation: "true"} // as the policies mark what is moved
		create(ctx, &ipamv1beta2.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "back", Finalizers: []string{ipamv1.AddressFinalizer}, Annotations: arrived},
			Spec: ipamv1beta2.IPAddressSpec{
				ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: "back"}, PoolRef: newClaim(ns, "back", "IPPool", "p").Spec.PoolRef,
				Address: "10.1.0.77", Prefix: ptr.To[int32](24),
			},
		})
		former := newClaim(ns, "back", "IPPool", "p") // as clusterctl moves it, the record names the claim's former UID
		record := create(ctx, &ipamv1.IPAllocation{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: ns, Name: "back-former", Finalizers: []string{ipamv1.AllocationFinalizer}, Annotations: arrived,
			},
			Spec: ipamv1.IPAllocationSpec{
				PoolRef: pool.PoolReference(), AddressSpace: ns, CIDR: "10.1.0.77/32", Purpose: ipamv1.ClaimPurpose,
				ClaimRef: ipamv1.ClaimReference{APIGroup: ipamv1beta2.GroupVersion.Group, Kind: "IPAddressClaim", Namespace: ns, Name: "back", UID: "former"},
				Manager:  ipamv1.AllocationManager{Instance: "former", CreatedRevision: "1"},
			},
		})
		answered(ctx, create(ctx, former))
		gone(ctx, record)
		// Where the IPAddress is seen before the record, it is recorded under its own UID first, and that is told too.
		Eventually(func() []string { return logged.where("claimUID", string(former.UID)) }, "1m", "100ms").
			Should(HaveExactElements("Adopted Arrived 10.1.0.77/32"))
	})

	It("leaves the log without errors while a namespace ends", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/29", AddressSpace: ns}))
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
		for i := 0; ; i++ {
			claim := newClaim(ns, fmt.Sprint("c", i), "IPPool", "p")
			if err := k.Create(ctx, claim); err != nil {
				Expect(apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)).To(BeTrue(), "%v", err)
				break
			}
			if i == 20 {
				Expect(k.Delete(ctx, namespace)).To(Succeed())
			}
		}
		Eventually(func() bool {
			return apierrors.IsNotFound(k.Get(ctx, client.ObjectKeyFromObject(namespace), namespace))
		}, "1m", "200ms").Should(BeTrue())
		Expect(logged.errorsAbout(ns)).To(BeEmpty())
	})
})

// withTrail has a log noted.
func withTrail(log logr.Logger) logr.Logger {
	return log.WithSink(sink{LogSink: log.GetSink(), trail: logged})
}
