package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

func cpu(pid int) float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	u, _ := strconv.ParseFloat(f[11], 64)
	s, _ := strconv.ParseFloat(f[12], 64)
	return 10 * (u + s)
}
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	cp, err := framework.StartControlPlane(ctx, framework.Options{})
	must(err)
	defer cp.Stop()
	cfg := cp.Config()
	must(framework.InstallCAPICRDs(ctx, cfg))
	must(framework.InstallCRDs(ctx, cfg, "config/crd/bases"))
	scheme := runtime.NewScheme()
	clientgoscheme.AddToScheme(scheme)
	ipamv1beta2.AddToScheme(scheme)
	ipamv1.AddToScheme(scheme)
	k, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme})
	must(err)
	must(k.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}}))
	const n = 1500
	run := func(name string, f func(i int) error) {
		a, t := cpu(cp.PIDs()["kube-apiserver"]), time.Now()
		ch := make(chan int, n)
		for i := range n {
			ch <- i
		}
		close(ch)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for i := range ch {
					must(f(i))
				}
			})
		}
		wg.Wait()
		fmt.Printf("%-45s apiserver %.2f ms  %.0f/s\n", name, (cpu(cp.PIDs()["kube-apiserver"])-a)/n, n/time.Since(t).Seconds())
	}
	uid := types.UID("0a1b2c3d-0a1b-2c3d-4e5f-0a1b2c3d4e5f")
	owners := func(i int) []metav1.OwnerReference {
		return []metav1.OwnerReference{
			{APIVersion: ipamv1beta2.GroupVersion.String(), Kind: "IPAddressClaim", Name: fmt.Sprintf("c-%d", i), UID: uid, Controller: ptr.To(true)},
			{APIVersion: ipamv1.GroupVersion.String(), Kind: "IPPool", Name: "p", UID: uid, Controller: ptr.To(false), BlockOwnerDeletion: ptr.To(true)},
		}
	}
	alloc := func(p string, i int) *ipamv1.IPAllocation {
		cidr := fmt.Sprintf("10.0.%d.%d/32", i/256, i%256)
		return &ipamv1.IPAllocation{
			ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: fmt.Sprintf("%s-%d-0123456789", p, i), OwnerReferences: owners(i), Finalizers: []string{"ipam.weir.dev/allocation"}},
			Spec: ipamv1.IPAllocationSpec{
				PoolRef: ipamv1.PoolReference{Kind: "IPPool", Namespace: "x", Name: "p"}, AddressSpace: "default", CIDR: cidr,
				ClaimRef: ipamv1.ClaimReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: "IPAddressClaim", Namespace: "x", Name: fmt.Sprintf("c-%d", i), UID: string(uid)},
				Purpose:  ipamv1.ClaimPurpose, Holder: ipamv1.AllocationHolder{Instance: "host-abcdefgh"},
			},
			Status: ipamv1.IPAllocationStatus{AllocatedCIDR: cidr},
		}
	}
	pol, err := framework.ReadManifests("config/policy")
	must(err)
	run("warm-up", func(i int) error { return k.Create(ctx, alloc("w", i)) })
	for r := range 4 {
		run("no policies", func(i int) error { return k.Create(ctx, alloc(fmt.Sprintf("n%d", r), i)) })
		for _, p := range pol {
			if strings.HasPrefix(p.GetKind(), "ValidatingAdmissionPolicy") {
				must(framework.Apply(ctx, cfg, p))
			}
		}
		time.Sleep(3 * time.Second)
		run("policies", func(i int) error { return k.Create(ctx, alloc(fmt.Sprintf("p%d", r), i)) })
		for _, p := range pol {
			if strings.HasPrefix(p.GetKind(), "ValidatingAdmissionPolicy") {
				must(k.Delete(ctx, p.DeepCopy()))
			}
		}
		time.Sleep(3 * time.Second)
	}
}
