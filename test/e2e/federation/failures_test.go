// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/faults"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
)

// row is something that happens to the pool of a plot: a row of the table of failures.
type row struct {
	name string
	// often is how likely it is to be chosen.
	often int
	// do reports whether it has happened: it may not apply now, or a manager that has to be asked is away.
	do func(p *plot, ctx context.Context) bool
}

// rows wait for nothing: each finds the pool and its copies as they are.
var rows = []row{
	{"delegated", 6, (*plot).delegate},
	{"made again, same block and member", 8, again((*plot).sameBlock)},
	{"made again, other block", 12, again((*plot).otherBlock)},
	{"made again, other member", 12, again((*plot).otherMember)},
	{"claimed from", 16, (*plot).claim},
	{"released", 3, (*plot).release},
	{"deleted, empty", 2, deleted(false)},
	{"deleted, in use", 2, deleted(true)},
	{"deleted in the foreground", 2, deleted(true, client.PropagationPolicy(metav1.DeletePropagationForeground))},
	{"finalizer stripped", 1, (*plot).vanish},
	{"hub's namespace deleted", 1, (*plot).endNamespace},
	{"force-release", 4, (*plot).force},
	{"record of a held block deleted", 2, (*plot).deleteRecord},
	{"copy deleted by hand", 2, (*plot).deleteCopy},
	{"binding deleted", 1, (*plot).deleteBinding},
	{"report lost", 2, (*plot).loseReport},
	{"report of another member, template or generation", 2, (*plot).reportWrongly},
	{"copy placed at another member", 1, (*plot).misplace},
	{"copy that Karmada calls otherwise", 1, (*plot).misname},
	{"copy refused", 12, (*plot).refuse},
	{"copy refused no more", 2, (*plot).refuseNoMore},
	{"old manifest applied again", 8, (*plot).applyAgain},
}

const (
	// plots is how many pools there are at a time, at most, and commons the root that all are carved from: its eight /24
	// go from hand to hand.
	plots   = 6
	commons = "10.0.0.0/21"
	// replicas is how many managers each cluster has. None leads: all do everything.
	replicas = 2
	// The faults of propagation.
	memberCutOff, policiesGone = "member cut off", "policies deleted, and restored"
)

// inFlight are for requests that wait for a manager that is stopped.
var inFlight = []string{"--repair-grace=40s", "--apiserver-request-timeout=20s"}

var (
	// each is how often each row and each fault is wanted.
	each = size.Of(0, 4, 40)
	// answersWanted and blocksWanted are how many claims are to be answered, and how many blocks handed back.
	answersWanted, blocksWanted = size.Of(0, 50, 500), size.Of(0, 10, 200)
	// longStops is how many stops are to be longer than a minute.
	longStops = size.Of[int64](0, 0, 3)
)

// ordeal is one run through the table.
type ordeal struct {
	*world

	plots     []*plot
	injectors map[*cluster]*faults.Injector
	journals  []*faults.Journal

	mu     sync.Mutex
	counts map[string]int
	// answered are the claims that were, and back the pools whose blocks were handed back, by their UIDs.
	answered, back map[string]bool
}

const failuresTitle = "and each row of the table of failures happens at random, while managers of hub and members are killed, stopped and cut off: " +
	"members use what is theirs, claims are told, and blocks come back or are held for a reason"

// failures needs nothing of the specs before it.
func failures(ctx SpecContext) {
	karmadaAppears(ctx)
	mayReadBindings(ctx)
	o := &ordeal{world: newWorld(ctx, commons), injectors: map[*cluster]*faults.Injector{}, counts: map[string]int{}, answered: map[string]bool{}, back: map[string]bool{}}
	DeferCleanup(func() {
		framework.Account(o.account())
		if report := CurrentSpecReport(); report.Failed() {
			o.explain(report.Failure.Message)
		}
	})
	for _, c := range clusters() {
		o.disturb(ctx, c)
	}
	for i := range plots {
		o.plots = append(o.plots, newPlot(ctx, o, i))
	}

	By("having it all happen")
	o.run(ctx)

	By("letting all come to rest")
	o.rests(ctx)

	By("deleting what is left, by what the hub says")
	o.ends(ctx)
}

// disturb has the cluster served by managers that can be, until the spec ends.
func (o *ordeal) disturb(ctx context.Context, c *cluster) {
	GinkgoHelper()
	DeferCleanup(func(ctx SpecContext) { c.serve(ctx, c.flags...) }, NodeTimeout(3*time.Minute))
	known, err := cache.New(c.Config(), cache.Options{Scheme: c.Client().Scheme()})
	Expect(err).NotTo(HaveOccurred())
	faults.Follow(func(ctx context.Context) error { return known.Start(ctx) })
	o.journals = append(o.journals, faults.NewJournal(ctx, known, o.see,
		&ipamv1.IPPool{}, &ipamv1.GlobalIPPool{}, &ipamv1.IPAllocation{}, &ipamv1.IPClaim{}, &ipamv1beta2.IPAddressClaim{}))
	Expect(c.KillManagers()).To(Succeed())
	config, err := c.RESTConfigAs(ctx, framework.ManagerAccount)
	Expect(err).NotTo(HaveOccurred())
	d := &faults.Injector{Site: c.Site, Stream: uint64(10 * len(o.injectors)), Quiet: 15 * time.Second, Progress: o.happened, Pause: pause, Long: time.Minute}
	managers := make([]*framework.Manager, 0, replicas)
	for i := range replicas {
		r := faults.StartReplica(ctx, c.Site, framework.ManagerOptions{Name: fmt.Sprint("disturbed-", i), Config: config, Args: slices.Concat(c.flags, inFlight)})
		d.Replicas, managers = append(d.Replicas, r), append(managers, r.Manager)
	}
	balancer, err := c.Balance(managers...)
	Expect(err).NotTo(HaveOccurred())
	Expect(c.PointWebhooks(ctx, balancer.WebhookAddress())).To(Succeed())
	o.injectors[c] = d
}

// pause is longer than others leave a manager's half-made records alone; at size soak, one of five is longer than a minute.
func pause(random *rand.Rand, before int64) time.Duration {
	d := 6*time.Second + faults.UpTo(random, 3*time.Second)
	if longStops > 0 && before%5 == 0 {
		d += time.Minute
	}
	return d
}

// run has rows and faults happen until there were enough of each.
func (o *ordeal) run(ctx context.Context) {
	GinkgoHelper()
	parts := make([]func(context.Context), 0, 2+2*len(o.injectors)+len(o.plots))
	parts = append(parts, o.disturbPropagation, o.wait)
	for _, d := range o.injectors {
		parts = append(parts, d.Run, d.Restart)
	}
	for _, p := range o.plots {
		parts = append(parts, p.live)
	}
	faults.Together(ctx, parts...)
	Expect(ctx.Err()).NotTo(HaveOccurred(), "there was not enough of: %s", strings.Join(o.missing(), ", "))
	for _, d := range o.injectors {
		Expect(d.Ended()).To(BeZero(), "managers that ended by themselves, though none leads")
	}
}

// disturbPropagation cuts one member off at a time, or deletes the policies for a while.
func (o *ordeal) disturbPropagation(ctx context.Context) {
	random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 100))
	for ctx.Err() == nil {
		faults.Sleep(ctx, faults.UpTo(random, 10*time.Second))
		name, restore := policiesGone, placement.Start
		if i := random.IntN(3); i < len(members()) {
			name, restore = memberCutOff, placement.CutOff(members()[i].name)
		} else {
			placement.Stop()
		}
		faults.Sleep(ctx, faults.UpTo(random, 8*time.Second))
		restore()
		o.count(name)
	}
}

// wait returns when it is enough. What the look at all clusters finds ends it.
func (o *ordeal) wait(ctx context.Context) {
	for ctx.Err() == nil && len(o.missing()) > 0 {
		select {
		case <-looking:
			Fail("the look at all clusters has found something: see there")
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// missing names what has not happened often enough.
func (o *ordeal) missing() (names []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	wanted := make([]string, 0, 2+len(rows))
	wanted = append(wanted, memberCutOff, policiesGone)
	for _, r := range rows {
		wanted = append(wanted, r.name)
	}
	for _, name := range wanted {
		if o.counts[name] < each {
			names = append(names, name)
		}
	}
	for _, c := range clusters() {
		if !o.injectors[c].Enough(int64(each), longStops) {
			names = append(names, "faults of managers of "+c.label())
		}
	}
	if len(o.answered) < answersWanted {
		names = append(names, "answers")
	}
	if len(o.back) < blocksWanted {
		names = append(names, "blocks that are handed back")
	}
	return names
}

func (o *ordeal) count(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.counts[name]++
}

// happened counts all that has.
func (o *ordeal) happened() (sum int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, n := range o.counts {
		sum += n
	}
	return sum
}

// see notes what has become of an object.
func (o *ordeal) see(obj client.Object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch obj := obj.(type) {
	case *ipamv1.IPAllocation:
		if obj.Spec.Purpose == ipamv1.HandBackPurpose && obj.Spec.State == ipamv1.ConfirmedState {
			o.back[obj.Spec.ClaimRef.UID] = true
		}
	case *ipamv1.IPClaim:
		o.answered[string(obj.UID)] = true // it is not stored without its prefix
	case *ipamv1beta2.IPAddressClaim:
		if obj.Status.AddressRef.Name != "" {
			o.answered[string(obj.UID)] = true
		}
	}
}

func (o *ordeal) account() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "failures: seed %d, %d claims answered, %d blocks handed back\n", GinkgoRandomSeed(), len(o.answered), len(o.back))
	for _, name := range slices.Sorted(maps.Keys(o.counts)) {
		fmt.Fprintf(&b, "failures: %d times %s\n", o.counts[name], name)
	}
	for _, c := range clusters() {
		fmt.Fprintf(&b, "failures: managers of %s: %s\n", c.label(), o.injectors[c])
	}
	return b.String()
}

// explain writes what became of all that a finding names.
func (o *ordeal) explain(finding string) {
	for i, journal := range o.journals {
		GinkgoWriter.Printf("--- %s\n%s\n", clusters()[i].label(), journal.Of(finding))
	}
}
