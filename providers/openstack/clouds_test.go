// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"fmt"
	"strings"
	"testing"

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
	b.expectCalls("the same bytes", list)
	b.secrets.set(string(b.CloudsYAML())+"# another\n", "", nil)
	b.mustAcquire(ours)
	b.expectCalls("other bytes", logIn, extensions, list)
	id, err := b.ApplicationCredential(t.Context(), "weir", "hunter2")
	if err != nil {
		t.Fatal(err)
	}
	b.secrets.set(fmt.Sprintf(`{clouds: {member: {auth: {auth_url: "%s/identity", application_credential_id: %s,
		application_credential_secret: hunter2}}}}`, b.URL(), id), "\n", nil)
	b.mustAcquire(ours)
	b.expectCalls("an application credential", logIn, extensions, list)
}

// TestTokensAndEndpointsAreRenewed: a token that is refused costs a log-in, and a cloud that has
// moved is found by the call after the one that failed.
func TestTokensAndEndpointsAreRenewed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.mustAcquire(ours)
	b.Reset()
	b.RevokeTokens()
	b.mustAcquire(ours)
	b.expectCalls("a revoked token", list, logIn, list)
	b.Inject(fake.Fault{Call: list, Effect: fake.Refuse, Code: 404})
	if _, err := b.acquire(b.ctx(), ours); reasonOf(err) != "PoolNotReady" {
		t.Errorf("no such path: %v", err)
	}
	b.mustAcquire(ours)
	b.expectCalls("another path", list, logIn, extensions, list)
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
