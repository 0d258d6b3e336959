// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

// TestWhatIsWrongWithASecret is told as one category, logged in words, and over when it is put
// right.
func TestWhatIsWrongWithASecret(t *testing.T) {
	t.Parallel()
	secretsKind := schema.GroupResource{Resource: "secrets"}
	for name, test := range map[string]struct {
		clouds, cacert string
		err            error
		claim, release string
		log            string
	}{
		"missing":   {err: apierrors.NewNotFound(secretsKind, "cloud-config"), claim: "PoolNotReady", release: "WaitingForSecret", log: "does not exist"},
		"forbidden": {err: apierrors.NewForbidden(secretsKind, "cloud-config", nil), claim: "PoolNotReady", release: "WaitingForCloud", log: "bind the ClusterRole"},
		"unread":    {err: errors.New("the API server is away"), claim: "busy", release: "busy", log: "the API server is away"},
		"empty":     {claim: "PoolNotReady", release: "WaitingForCloud", log: "data[clouds.yaml]: required"},
		"no YAML":   {clouds: "hunter2: [", claim: "PoolNotReady", release: "WaitingForCloud", log: "infra/cloud-config: clouds.yaml"},
		"another cloud": {
			clouds: "clouds: {hunter2: {}}", claim: "PoolNotReady", release: "WaitingForCloud", log: "clouds.member: is missing",
		},
		"no certificate": {clouds: "good", cacert: "hunter2", claim: "PoolNotReady", release: "WaitingForCloud", log: "cacert: must have"},
		"wrong password": {clouds: "wrong", claim: "PoolNotReady", release: "WaitingForCloud", log: "LogIn: Unauthorized"},
		"refused URL": {
			clouds: "elsewhere", claim: "PoolNotReady", release: "WaitingForCloud", log: "--openstack-endpoint-allow",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			has := b.mustAcquire(ours)
			b.secrets.set(b.cloudsOf(test.clouds), test.cacert, test.err)
			if _, err := b.acquire(b.ctx(), ours); reasonOf(err) != test.claim {
				t.Errorf("allocating: %v", err)
			}
			if err := b.adopt(b.ctx(), ours, has.Addr); reasonOf(err) != test.claim {
				t.Errorf("adopting: %v", err)
			}
			if err := b.giveBack(b.ctx(), external.ClaimReleased(ours)); reasonOf(err) != test.release {
				t.Errorf("releasing: %v", err)
			}
			if log := b.logged(); !strings.Contains(log, test.log) {
				t.Errorf("logged: %s", log)
			}
			b.secrets.set(b.cloudsOf("good"), "", nil)
			if again := b.mustAcquire(ours); again != has {
				t.Errorf("it had %v, and has %v", has, again)
			}
			if err := b.giveBack(b.ctx(), external.ClaimReleased(ours)); err != nil {
				t.Error(err)
			}
		})
	}
}

// cloudsOf returns a clouds.yaml that is named by a word, or is that.
func (b *bench) cloudsOf(word string) string {
	switch word {
	case "good":
		return string(b.CloudsYAML())
	case "wrong":
		return b.withPassword("hunter2")
	case "elsewhere":
		return strings.ReplaceAll(string(b.CloudsYAML()), b.URL(), "http://keystone.example.com")
	}
	return word
}

// TestASecretIsReadAtEachUse: another one is used at once, and one of the same bytes needs no
// log-in.
func TestASecretIsReadAtEachUse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.mustAcquire(ours)
	b.Reset()
	b.secrets.set(string(b.CloudsYAML()), "", nil)
	b.mustAcquire(ours)
	b.expectCalls("the same bytes", list, look)
	b.secrets.set(string(b.CloudsYAML())+"# another\n", "", nil)
	b.mustAcquire(ours)
	b.expectCalls("other bytes", logIn, extensions, list, look)
	id, err := b.ApplicationCredential(t.Context(), "weir", "hunter2")
	if err != nil {
		t.Fatal(err)
	}
	b.secrets.set(fmt.Sprintf(`{clouds: {member: {auth: {auth_url: "%s/identity", application_credential_id: %s,
		application_credential_secret: hunter2}}}}`, b.URL(), id), "\n", nil)
	b.mustAcquire(ours)
	b.expectCalls("an application credential", logIn, extensions, list, look)
}

// TestTokensAndEndpointsAreRenewed: a token that is refused costs a log-in, and a cloud that has
// moved is found by the call after the one that failed, but for a client that has just looked.
func TestTokensAndEndpointsAreRenewed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.mustAcquire(ours)
	b.Reset()
	b.RevokeTokens()
	b.mustAcquire(ours)
	b.expectCalls("a revoked token", list, logIn, list, look)
	for _, test := range []struct {
		age  time.Duration
		want []string
	}{{age: 0, want: []string{list, list, look}}, {age: fresh, want: []string{list, logIn, extensions, list, look}}} {
		b.clock.Step(test.age)
		b.Inject(fake.Fault{Call: list, Effect: fake.Refuse, Code: 404})
		if _, err := b.acquire(b.ctx(), ours); reasonOf(err) != "PoolNotReady" {
			t.Errorf("no such path: %v", err)
		}
		b.clock.Step(shortestClosure)
		b.mustAcquire(ours)
		b.expectCalls(fmt.Sprintf("another path, after %s", test.age), test.want...)
	}
}

// TestALogInThatFailedIsNotRepeatedByEachClaim: the others are told the same, for a second at first and
// for half a minute in the end, unless the Secret is another one, or the cloud wants longer.
func TestALogInThatFailedIsNotRepeatedByEachClaim(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fake.Fault{
		"wrong password":         {Call: logIn, Effect: fake.Refuse, Code: http.StatusUnauthorized},
		"out of order":           {Call: logIn, Effect: fake.Refuse, Code: http.StatusServiceUnavailable},
		"no answer":              {Call: logIn, Effect: fake.CutBefore},
		"wants fewer calls":      {Call: logIn, Effect: fake.Refuse, Code: http.StatusTooManyRequests},
		"no list of what it has": {Call: extensions, Effect: fake.Refuse, Code: http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			f.Times = -1
			b.Inject(f)
			if got := b.logInsOfManyClaims(); got != 1 {
				t.Fatalf("%d log-ins", got)
			}
			for _, pause := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
				b.clock.Step(pause*time.Second - 1)
				if got := b.logInsOfManyClaims(); got != 0 {
					t.Errorf("%d log-ins within %d s after one", got, pause)
				}
				b.clock.Step(1)
				if got := b.logInsOfManyClaims(); got != 1 {
					t.Errorf("%d log-ins %d s after one", got, pause)
				}
			}
			b.secrets.set(string(b.CloudsYAML())+"# another\n", "", nil)
			if got := b.logInsOfManyClaims(); got != 1 {
				t.Errorf("%d log-ins with another Secret", got)
			}
			b.ClearFaults()
			b.clock.Step(time.Second)
			b.mustAcquire(ours)
		})
	}
}

// logInsOfManyClaims has claims ask, all in vain and told the same, and returns how often the cloud saw a log-in.
func (b *bench) logInsOfManyClaims() (seen int) {
	b.t.Helper()
	b.Reset()
	for range 10 {
		if _, err := b.acquire(b.ctx(), ours); reasonOf(err) != "PoolNotReady" {
			b.t.Errorf("a claim: %v", err)
		}
	}
	for _, call := range b.Calls() {
		if call.Name == logIn {
			seen++
		}
	}
	return seen
}

// TestTheCloudSaysWhenToLogInAgain, and a caller that went says nothing.
func TestTheCloudSaysWhenToLogInAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, release := b.lose(logIn)
	if _, err := b.acquire(ctx, ours); reasonOf(err) != "busy" {
		t.Errorf("its caller went: %v", err)
	}
	release()
	b.eventually("the log-in is executed", func() bool { return b.Count(logIn) == 1 })
	b.Inject(fake.Fault{Call: logIn, Effect: fake.Refuse, Code: http.StatusTooManyRequests, RetryAfter: "60"})
	if got := b.logInsOfManyClaims(); got != 1 {
		t.Errorf("%d log-ins after one whose caller went", got)
	}
	b.clock.Step(time.Minute - 1)
	if got := b.logInsOfManyClaims(); got != 0 {
		t.Errorf("%d log-ins within the minute that the cloud asked for", got)
	}
	b.clock.Step(1)
	b.mustAcquire(ours)
}

// TestATokenThatCannotBeRenewed: that is a log-in as well.
func TestATokenThatCannotBeRenewed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.mustAcquire(ours)
	b.RevokeTokens()
	b.Inject(fake.Fault{Call: logIn, Effect: fake.Refuse, Code: http.StatusServiceUnavailable, Times: -1})
	if got := b.logInsOfManyClaims(); got != 2 {
		t.Errorf("%d log-ins: the call's own, and one of all others", got)
	}
}

// TestCredentialsOfAnotherProjectFindNothing, and that is not taken for a release.
func TestCredentialsOfAnotherProjectFindNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pool.Project = b.member.Project()
	b.mustAcquire(ours)
	b.Reset()
	b.secrets.set(strings.ReplaceAll(strings.ReplaceAll(string(b.CloudsYAML()), "  member:", "  gone:"), "  other:", "  member:"), "", nil)
	if _, err := b.acquire(b.ctx(), ours); reasonOf(err) != "PoolNotReady" {
		t.Errorf("allocating: %v", err)
	}
	if err := b.giveBack(b.ctx(), external.ClaimReleased(ours)); reasonOf(err) != "WaitingForCloud" {
		t.Errorf("releasing: %v", err)
	}
	b.expectCalls("another project", logIn, extensions)
	if log := b.logged(); !strings.Contains(log, "the credentials are for project") {
		t.Errorf("logged: %s", log)
	}
	if len(b.owned(claimUID)) != 1 {
		t.Errorf("left: %+v", b.FloatingIPs())
	}
}

// TestARegionOfThePoolWins over that of clouds.yaml, with a client of its own.
func TestARegionOfThePoolWins(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	has := b.mustAcquire(ours)
	b.pool.Source.IdentityRef.Region = "nowhere"
	if _, err := b.acquire(b.ctx(), ours); reasonOf(err) != "PoolNotReady" || !strings.Contains(b.logged(), `region \"nowhere\"`) {
		t.Errorf("%v; logged: %s", err, b.logged())
	}
	b.pool.Source.IdentityRef.Region = openstack.Region
	if again := b.mustAcquire(ours); again != has || len(b.clouds) != 3 {
		t.Errorf("it had %v, and has %v, by %d clients", has, again, len(b.clouds))
	}
}
