// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package race

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/faults"
)

// metal3Claims is how many claims of Metal3 there may be at a time: at times some wait.
const metal3Claims = 24

// metal3Pools are two pools of Metal3 that have addresses in common, each in a space of its own, and one namePrefix. So their IPAddresses
// would have the same names.
func metal3Pools() []*m3v1.IPPool {
	pool := func(name, end string) *m3v1.IPPool {
		return &m3v1.IPPool{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: m3v1.IPPoolSpec{
				NamePrefix: "net", Prefix: 24, Gateway: ptr.To(m3v1.Address("192.0.2.1")),
				Pools: []m3v1.Pool{{Start: ptr.To(m3v1.Address("192.0.2.1")), End: ptr.To(m3v1.Address(end))}},
			},
		}
	}
	return []*m3v1.IPPool{pool(busyPools[0].name, "192.0.2.15"), pool("few-metal3", "192.0.2.9")}
}

func metal3Claim(i int) *m3v1.IPClaim {
	return &m3v1.IPClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: claim(i%batches, i/batches*smallShare).Name},
		Spec:       m3v1.IPClaimSpec{Pool: m3v1.ObjectReference{Name: metal3Pools()[i%2].Name}},
	}
}

// addressClaim is one of Cluster API's for the first of Metal3's pools.
func addressClaim(i int) *ipamv1beta2.IPAddressClaim {
	claim := builder.IPAddressClaim(namespace, fmt.Sprintf("metal3-%d", i), "IPPool", metal3Pools()[0].Name).Build()
	claim.Spec.PoolRef.APIGroup = m3v1.GroupVersion.Group
	return claim
}

// makeMetal3Claims makes claims of both kinds for Metal3's pools and deletes fewer, always under the same names, until ctx ends.
func makeMetal3Claims(ctx context.Context) {
	random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 400))
	for ctx.Err() == nil {
		var claim client.Object = metal3Claim(random.IntN(metal3Claims))
		if random.IntN(3) == 0 {
			claim = addressClaim(random.IntN(metal3Claims / 4))
		}
		if random.IntN(3) > 0 {
			Expect(client.IgnoreAlreadyExists(ignorePassing(k.Create(context.WithoutCancel(ctx), claim)))).To(Succeed())
		} else {
			Expect(client.IgnoreNotFound(ignorePassing(k.Delete(context.WithoutCancel(ctx), claim)))).To(Succeed())
		}
		faults.Sleep(ctx, faults.UpTo(random, 200*time.Millisecond))
	}
}

// metal3 is what claims of Metal3 were told, as a watch shows each of their statuses.
type metal3 struct {
	mu sync.Mutex
	// told is the name of the IPAddress that a claim was told first.
	told map[types.UID]string
	// wrong is what must never be.
	wrong []string
}

// follow has the watch tell of every status.
func (m *metal3) follow(ctx context.Context) {
	GinkgoHelper()
	m.told = map[types.UID]string{}
	informer, err := claims.GetInformer(ctx, &m3v1.IPClaim{})
	Expect(err).NotTo(HaveOccurred())
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: m.look, UpdateFunc: func(_, obj any) { m.look(obj) }})
	Expect(err).NotTo(HaveOccurred())
}

func (m *metal3) look(obj any) {
	c, ok := obj.(*m3v1.IPClaim)
	if !ok || !c.DeletionTimestamp.IsZero() {
		return
	}
	name := ""
	if c.Status.Address != nil {
		name = c.Status.Address.Name
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch first := m.told[c.UID]; {
	case first == "" && name != "":
		m.told[c.UID] = name
	case first != name:
		m.wrong = append(m.wrong, fmt.Sprintf("Metal3's claim %s, told %s, is told %q", c.UID, first, name))
	case name != "" && c.Status.ErrorMessage != nil:
		m.wrong = append(m.wrong, fmt.Sprintf("Metal3's claim %s has %s and the message %q", c.UID, name, *c.Status.ErrorMessage))
	}
}

// findings are what is wrong with the claims that live, read in this order: what a claim that lives in the end was told in the first list, it
// has all the time.
func (m *metal3) findings(ctx context.Context) (found []string, err error) {
	before, answers, records, after := &m3v1.IPClaimList{}, &m3v1.IPAddressList{}, &ipamv1.IPAllocationList{}, &m3v1.IPClaimList{}
	for _, list := range []client.ObjectList{before, answers, records, after} {
		if err := k.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
	}
	lives := map[types.UID]bool{}
	for i := range after.Items {
		lives[after.Items[i].UID] = after.Items[i].DeletionTimestamp.IsZero()
	}
	sharers := map[string]types.UID{}
	for i := range before.Items {
		c := &before.Items[i]
		if !lives[c.UID] || c.Status.Address == nil {
			continue
		}
		address := metal3Answer(answers, c)
		key := c.Spec.Pool.Name + " " + address
		switch {
		case address == "":
			found = append(found, fmt.Sprintf("Metal3's claim %s is told %s, which is not there or another claim's", c.UID, c.Status.Address.Name))
		case sharers[key] != "":
			found = append(found, fmt.Sprintf("Metal3's claims %s and %s have %s", sharers[key], c.UID, key))
		case !metal3Recorded(records, c, address):
			found = append(found, fmt.Sprintf("Metal3's claim %s has %s without a record", c.UID, address))
		}
		sharers[key] = c.UID
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return append(found, m.wrong...), nil
}

// metal3Answer returns the address that a claim is told; "" if the IPAddress is not there, or answers another claim.
func metal3Answer(answers *m3v1.IPAddressList, c *m3v1.IPClaim) string {
	for i := range answers.Items {
		if a := &answers.Items[i]; a.Name == c.Status.Address.Name && a.Spec.Claim.Name == c.Name && a.Spec.Pool.Name == c.Spec.Pool.Name {
			return string(a.Spec.Address)
		}
	}
	return ""
}

func metal3Recorded(records *ipamv1.IPAllocationList, c *m3v1.IPClaim, address string) bool {
	for i := range records.Items {
		if r := &records.Items[i]; r.Spec.ClaimRef.UID == string(c.UID) && r.Spec.CIDR == address+"/32" && r.Spec.ReleasedAt.IsZero() {
			return true
		}
	}
	return false
}

// expectMetal3 fails with the history of what is wrong with Metal3's claims.
func (r *race) expectMetal3(ctx context.Context) {
	GinkgoHelper()
	var found []string
	Eventually(func() (err error) { // an API server that has too much to do may be too slow
		found, err = r.metal3.findings(ctx)
		return err
	}, "2m", "1s").Should(Succeed())
	if findings := strings.Join(found, "\n"); findings != "" {
		Fail(findings + "\n" + r.journal.Of(findings))
	}
}

// restMetal3 waits until each of Metal3's claims is answered or told that it cannot be, and no IPAddress is there but theirs; then deletes them.
func (r *race) restMetal3(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		claims, answers := &m3v1.IPClaimList{}, &m3v1.IPAddressList{}
		g.Expect(k.List(ctx, claims)).To(Succeed())
		g.Expect(k.List(ctx, answers)).To(Succeed())
		told := map[string]bool{}
		for i := range claims.Items {
			c := &claims.Items[i]
			g.Expect(c.Status.Address != nil || ptr.Deref(c.Status.ErrorMessage, "") == m3v1.ExhaustedMessage).To(BeTrue(), c.Name)
			if c.Status.Address != nil {
				told[c.Status.Address.Name] = true
			}
		}
		var left []string
		for i := range answers.Items {
			if a := &answers.Items[i]; !told[a.Name] {
				left = append(left, fmt.Sprintf("%s/%s of %s/%s with %s/32", a.Namespace, a.Name, a.Namespace, a.Spec.Claim.Name, a.Spec.Address))
			}
		}
		g.Expect(left).To(BeEmpty(), func() string { return "no claim is told of them\n" + r.journal.Of(strings.Join(left, "\n")) })
	}, "5m", "1s").Should(Succeed())
	r.expectMetal3(ctx)
	Expect(r.metal3.told).NotTo(BeEmpty())
	Expect(k.DeleteAllOf(ctx, &m3v1.IPClaim{}, client.InNamespace(namespace))).To(Succeed())
	Eventually(func(g Gomega) {
		claims, answers := &m3v1.IPClaimList{}, &m3v1.IPAddressList{}
		g.Expect(k.List(ctx, claims)).To(Succeed())
		g.Expect(k.List(ctx, answers)).To(Succeed())
		g.Expect(claims.Items).To(BeEmpty())
		g.Expect(answers.Items).To(BeEmpty())
	}, "5m", "1s").Should(Succeed())
}
