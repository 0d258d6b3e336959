// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

// serverWords are in every answer that a fault makes up: they may be logged, and no claim is told.
const serverWords = "words-of-the-server"

// bench is a fake cloud and a pool of the member's project.
type bench struct {
	*fake.Cloud
	*Provider

	t       *testing.T
	clock   *clocktesting.FakeClock
	secrets *secrets
	pool    external.Pool
	// member is a client that the provider does not know.
	member *neutron.Client

	mu sync.Mutex
	// said is all that was logged or returned as an error.
	said []string
}

// secrets is the API server's part.
type secrets struct {
	client.Reader

	mu   sync.Mutex
	data map[string][]byte
	err  error
	// reads counts them.
	reads int
}

func (s *secrets) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if s.err == nil && (s.data == nil || key.String() != "infra/cloud-config") {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	obj.(*corev1.Secret).Data = s.data //nolint:forcetypeassert // nothing else is read
	return s.err
}

func (s *secrets) set(clouds, cacert string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data, s.err = map[string][]byte{"clouds.yaml": []byte(clouds), "cacert": []byte(cacert)}, err
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{Cloud: fake.Start(), t: t, clock: clocktesting.NewFakeClock(time.Unix(1e9, 0)), secrets: &secrets{}}
	t.Cleanup(func() {
		b.expectNothingSecret()
		b.expectModestCalls()
		_ = b.Stop()
	})
	b.secrets.set(string(b.CloudsYAML()), "", nil)
	b.member = b.connect(openstack.Member)
	network, err := b.member.FindNetwork(t.Context(), neutron.NetworkFilter{Name: openstack.Public})
	if err != nil {
		t.Fatal(err)
	}
	b.pool = external.Pool{
		Ref: ipamv1.PoolReference{Kind: "IPPool", Namespace: "infra", Name: "floating"}, Key: poolKey, Network: network.ID, Room: -1,
		SecretNamespace: "infra", Source: &ipamv1.OpenStackSource{
			IdentityRef: ipamv1.OpenStackIdentityReference{Name: "cloud-config", CloudName: openstack.Member},
		},
	}
	b.Provider = b.newProvider(b.clock, 32)
	b.Reset()
	return b
}

func (b *bench) policy() neutron.EndpointPolicy {
	policy, err := neutron.ParseEndpointPolicy(b.Endpoints())
	if err != nil {
		b.t.Fatal(err)
	}
	return policy
}

// newProvider returns what another manager would have.
func (b *bench) newProvider(clock clock.PassiveClock, concurrency int) *Provider {
	return New(Options{Live: b.secrets, Endpoints: b.policy(), Concurrency: concurrency, Clock: clock})
}

func (b *bench) connect(user string) *neutron.Client {
	b.t.Helper()
	credentials, err := neutron.ParseClouds(b.CloudsYAML(), nil, user, "")
	if err != nil {
		b.t.Fatal(err)
	}
	connected, err := neutron.Connect(b.t.Context(), credentials, neutron.Options{Policy: b.policy()})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(connected.CloseIdleConnections)
	return connected
}

// ctx returns a context whose log is kept.
func (b *bench) ctx() context.Context {
	return ctrl.LoggerInto(b.t.Context(), funcr.NewJSON(b.say, funcr.Options{}))
}

// lose has the next request of a call executed late: when release is called, after its client has
// gone. The context ends as soon as the request is there.
func (b *bench) lose(call string) (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancel(b.ctx())
	hold := b.Hold(call, fake.Late)
	go func() {
		<-hold.Arrived
		cancel()
	}()
	return ctx, hold.Release
}

func (b *bench) say(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, line)
}

// logged returns all that was logged or returned so far.
func (b *bench) logged() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.said, "\n")
}

// claim returns the claim of a name, with that UID.
func claim(name, uid string) ipamv1.ClaimReference {
	return ipamv1.ClaimReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: "IPAddressClaim", Namespace: "infra", Name: name, UID: uid}
}

// asks returns the request of a claim that was not told, and of which nothing is recorded.
func asks(c ipamv1.ClaimReference) external.Request {
	nothing := func(netip.Addr) bool { return false }
	return external.Request{Claim: c, Holds: nothing, IsOthers: nothing}
}

// asksAgain returns the request of a claim whose record holds an address.
func asksAgain(c ipamv1.ClaimReference, address netip.Addr) external.Request {
	request := asks(c)
	request.Holds = func(a netip.Addr) bool { return a == address }
	return request
}

// acquire calls the provider and checks its error.
func (b *bench) acquire(ctx context.Context, c ipamv1.ClaimReference) (external.Address, error) {
	b.t.Helper()
	address, err := b.Acquire(ctx, b.pool, asks(c))
	b.expectOneOf(err, true)
	return address, err
}

func (b *bench) adopt(ctx context.Context, c ipamv1.ClaimReference, address netip.Addr) error {
	b.t.Helper()
	_, err := b.Adopt(ctx, b.pool, external.Adoption{Claim: c, Address: address})
	b.expectOneOf(err, true)
	return err
}

// takeOver adopts for a claim that has arrived with the address.
func (b *bench) takeOver(ctx context.Context, c ipamv1.ClaimReference, address netip.Addr) (external.Address, error) {
	b.t.Helper()
	has, err := b.Adopt(ctx, b.pool, external.Adoption{Claim: c, Address: address, HasArrived: true, IsOthers: func(netip.Addr) bool { return false }})
	b.expectOneOf(err, true)
	return has, err
}

func (b *bench) giveBack(ctx context.Context, proof external.Proof) error {
	b.t.Helper()
	err := b.GiveBack(ctx, b.pool, proof)
	b.expectOneOf(err, false)
	return err
}

// mustAcquire acquires a claim's address.
func (b *bench) mustAcquire(c ipamv1.ClaimReference) external.Address {
	b.t.Helper()
	address, err := b.acquire(b.ctx(), c)
	if err != nil {
		b.t.Fatal(err)
	}
	return address
}

// expectOneOf checks that an error is one of those that may leave the provider, and tells nothing
// of the server's.
func (b *bench) expectOneOf(err error, isForClaim bool) {
	b.t.Helper()
	if err == nil {
		return
	}
	b.say(fmt.Sprintf("%v %+v", err, err))
	var refusal *claimant.Refusal
	var kept *claimant.KeptError
	isRefusal := errors.As(err, &refusal) && refusal.Reason != "" && refusal.After > 0
	isKept := errors.As(err, &kept) && kept.Reason != "" && kept.Message != "" && kept.After > 0
	if !errors.Is(err, ledger.ErrBusy) && (isForClaim && !isRefusal || !isForClaim && !isKept) {
		b.t.Errorf("this leaves the provider: %T %v", err, err)
	}
	if strings.Contains(err.Error(), serverWords) || strings.Contains(err.Error(), b.URL()) {
		b.t.Errorf("claims are told: %v", err)
	}
}

// expectNothingSecret searches all that was said for what is secret.
func (b *bench) expectNothingSecret() {
	b.t.Helper()
	secret := append(b.Tokens(), openstack.Password(openstack.Member), openstack.Password(openstack.Admin), "hunter2")
	shown := make([]any, 0, 2+2*len(b.clouds))
	shown = append(shown, b.Provider, b.clouds)
	for _, c := range b.clouds {
		shown = append(shown, c, c.client)
	}
	for _, value := range shown {
		b.say(fmt.Sprintf("%v %+v %#v", value, value, value))
	}
	for line := range strings.SplitSeq(b.logged(), "\n") {
		if slices.ContainsFunc(secret, func(text string) bool { return strings.Contains(line, text) }) {
			b.t.Errorf("a secret is shown: %s", line)
		}
	}
}

// expectModestCalls checks that no list was unfiltered, and no change unconditional.
func (b *bench) expectModestCalls() {
	b.t.Helper()
	for _, call := range b.Calls() {
		query, err := url.ParseQuery(call.Query)
		isFiltered := query.Get("description")+query.Get("floating_ip_address") != "" && query.Get("floating_network_id") != "" && query.Get("project_id") != ""
		if call.Name == "ListFloatingIPs" && (err != nil || !isFiltered) {
			b.t.Errorf("an unfiltered list: %+v", call)
		}
		isChange := call.Name == "DescribeFloatingIP" || call.Name == "DeleteFloatingIP"
		if isChange && !strings.HasPrefix(call.IfMatch, "revision_number=") {
			b.t.Errorf("an unconditional change: %+v", call)
		}
	}
}

// owned returns what is of a claim's UID in the cloud.
func (b *bench) owned(uid string) []fake.FloatingIP {
	return slices.DeleteFunc(b.FloatingIPs(), func(f fake.FloatingIP) bool {
		id, ok := parse(f.Description)
		return !ok || id.owner != uid
	})
}

// expectCalls checks which calls have ended, in their order, and forgets them.
func (b *bench) expectCalls(what string, want ...string) {
	b.t.Helper()
	calls := b.Calls()
	got := make([]string, 0, len(calls))
	for _, call := range calls {
		got = append(got, call.Name)
	}
	b.expectModestCalls()
	b.Reset()
	if !slices.Equal(got, want) {
		b.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// eventually waits until something is so: the fake works on after its client has gone.
func (b *bench) eventually(what string, isSo func() bool) {
	b.t.Helper()
	for range 1000 {
		if isSo() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	b.t.Fatalf("in vain: %s", what)
}

// reasonOf returns the reason that a claim is told.
func reasonOf(err error) string {
	var refusal *claimant.Refusal
	var kept *claimant.KeptError
	switch {
	case errors.As(err, &refusal):
		return refusal.Reason
	case errors.As(err, &kept):
		return kept.Reason
	case errors.Is(err, ledger.ErrBusy):
		return "busy"
	case err != nil:
		return err.Error()
	}
	return ""
}

// retryTimeOf returns when a claim is to be looked at again.
func retryTimeOf(err error) time.Duration {
	var refusal *claimant.Refusal
	var kept *claimant.KeptError
	switch {
	case errors.As(err, &refusal):
		return refusal.After
	case errors.As(err, &kept):
		return kept.After
	}
	return 0
}

// withPassword returns the Secret's clouds.yaml with another password of the member.
func (b *bench) withPassword(password string) string {
	return string(bytes.ReplaceAll(b.CloudsYAML(), []byte(openstack.Password(openstack.Member)), []byte(password)))
}
