// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

// bench is a fake cloud with a client of the member.
type bench struct {
	*fake.Cloud
	*neutron.Client

	network string
}

func newBench(t *testing.T, options neutron.Options) *bench {
	t.Helper()
	b := &bench{Cloud: fake.Start()}
	t.Cleanup(func() { _ = b.Stop() })
	b.Client = b.connect(t, options)
	network, err := b.FindNetwork(t.Context(), neutron.NetworkFilter{Name: openstack.Public})
	if err != nil {
		t.Fatal(err)
	}
	b.network = network.ID
	return b
}

func (b *bench) connect(t *testing.T, options neutron.Options) *neutron.Client {
	t.Helper()
	credentials, err := neutron.ParseClouds(b.CloudsYAML(), nil, openstack.Member, "")
	if err != nil {
		t.Fatal(err)
	}
	if options.Policy, err = neutron.ParseEndpointPolicy(b.Endpoints()); err != nil {
		t.Fatal(err)
	}
	client, err := neutron.Connect(t.Context(), credentials, options)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (b *bench) create(ctx context.Context, description string) (neutron.FloatingIP, error) {
	return b.Create(ctx, neutron.CreateOptions{NetworkID: b.network, Description: description})
}

// mustCreate makes a floating IP.
func (b *bench) mustCreate(t *testing.T, description string) neutron.FloatingIP {
	t.Helper()
	created, err := b.create(t.Context(), description)
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func TestAnswersHaveKinds(t *testing.T) {
	t.Parallel()
	b := newBench(t, neutron.Options{})
	seen := b.mustCreate(t, "seen")
	const (
		gone     = `{"NeutronError": {"type": "FloatingIPNotFound", "message": "Floating IP could not be found"}}`
		noPath   = `{"NeutronError": {"type": "HTTPNotFound", "message": "The resource could not be found."}}`
		conflict = `{"NeutronError": {"type": "FloatingIPPortAlreadyAssociated", "message": "it is"}}`
		html     = `<html>` + openstack.Member + `</html>`
	)
	for name, test := range map[string]struct {
		code          int
		body          string
		read, changed neutron.Kind
	}{
		"unauthorized":           {401, "", neutron.Unauthorized, neutron.Unauthorized},
		"forbidden":              {403, html, neutron.Forbidden, neutron.Forbidden},
		"gone":                   {404, gone, neutron.NotFound, neutron.NotFound},
		"no such path":           {404, noPath, neutron.Unavailable, neutron.Unavailable},
		"a load balancer's 404":  {404, html, neutron.Unavailable, neutron.Unavailable},
		"an empty 404":           {404, "", neutron.Unavailable, neutron.Unavailable},
		"conflict":               {409, conflict, neutron.Conflict, neutron.Conflict},
		"conflict without words": {409, html, neutron.Conflict, neutron.Conflict},
		"changed":                {412, "", neutron.Changed, neutron.Changed},
		"too large":              {413, "", neutron.Busy, neutron.Busy},
		"too many":               {429, "", neutron.Busy, neutron.Busy},
		"bad request":            {400, "", neutron.Invalid, neutron.Invalid},
		"a redirect":             {302, "", neutron.Invalid, neutron.Invalid},
		"too slow a request":     {408, "", neutron.Unavailable, neutron.Unavailable},
		"broken":                 {500, html, neutron.Unavailable, neutron.Uncertain},
		"a proxy's broken":       {502, "", neutron.Unavailable, neutron.Uncertain},
		"unavailable":            {503, "", neutron.Unavailable, neutron.Unavailable},
		"a proxy's timeout":      {504, "", neutron.Unavailable, neutron.Uncertain},
		"another success":        {202, "", neutron.Invalid, neutron.Uncertain},
	} {
		fault := fake.Fault{Effect: fake.Refuse, Code: test.code, Body: test.body, Times: -1}
		for call, do := range map[string]func() error{
			"GetFloatingIP":      func() error { _, err := b.Get(t.Context(), seen.ID); return err },
			"DescribeFloatingIP": func() error { _, err := b.Describe(t.Context(), seen, "new"); return err },
			"DeleteFloatingIP":   func() error { return b.Delete(t.Context(), seen) },
		} {
			want := test.changed
			if call == "GetFloatingIP" {
				want = test.read
			}
			fault.Call = call
			b.Inject(fault)
			err := do()
			b.ClearFaults()
			var known *neutron.Error
			if !errors.As(err, &known) || known.Kind != want || known.Code != test.code || known.Call != call {
				t.Errorf("%s, %s: got %v, want %s", name, call, err, want)
			}
			if err != nil && strings.Contains(err.Error(), html) {
				t.Errorf("%s: the error shows a page: %v", name, err)
			}
		}
	}
	if n := b.Count("Other"); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

func TestRetryAfterIsReadAndCapped(t *testing.T) {
	t.Parallel()
	b := newBench(t, neutron.Options{})
	for header, want := range map[string]time.Duration{
		"7": 7 * time.Second, "0": 0, "": 0, "-1": 0, "soon": 0, "86400": 10 * time.Minute, "99999999999999": 0,
		"Wed, 21 Oct 2015 07:28:00 GMT": 0, "Fri, 01 Jan 2999 00:00:00 GMT": 10 * time.Minute,
	} {
		b.Inject(fake.Fault{Call: "CreateFloatingIP", Effect: fake.Refuse, Code: http.StatusTooManyRequests, RetryAfter: header})
		_, err := b.create(t.Context(), "")
		var known *neutron.Error
		if !errors.As(err, &known) || known.RetryAfter != want {
			t.Errorf("%q: %v after %v", header, err, known.RetryAfter)
		}
	}
}

// TestALostAnswerIsUncertain cuts connections at every step: only what cannot have been executed is something else.
func TestALostAnswerIsUncertain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		effect   fake.Effect
		code     int
		executed int
	}{
		"before execution":          {fake.CutBefore, 0, 0},
		"after execution":           {fake.CutAfter, 0, 1},
		"within the answer":         {fake.CutAnswer, 0, 1},
		"with a proxy's own answer": {fake.RefuseLate, http.StatusGatewayTimeout, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, neutron.Options{})
			b.Inject(fake.Fault{Call: "CreateFloatingIP", Effect: test.effect, Code: test.code})
			_, err := b.create(t.Context(), "lost")
			if neutron.KindOf(err) != neutron.Uncertain {
				t.Errorf("got %v", err)
			}
			found, err := b.FindByDescription(t.Context(), b.network, "lost")
			if err != nil || len(found) != test.executed {
				t.Errorf("found %v, %v", found, err)
			}
			if n := b.Count("CreateFloatingIP"); n != 1 {
				t.Errorf("%d requests were made", n)
			}
		})
	}
}

func TestALostDeletionOrDescriptionIsUncertain(t *testing.T) {
	t.Parallel()
	b := newBench(t, neutron.Options{})
	seen := b.mustCreate(t, "seen")
	for _, effect := range []fake.Effect{fake.CutBefore, fake.CutAfter} {
		for call, do := range map[string]func(neutron.FloatingIP) error{
			"DescribeFloatingIP": func(f neutron.FloatingIP) error { _, err := b.Describe(t.Context(), f, "new"); return err },
			"TagFloatingIP":      func(f neutron.FloatingIP) error { return b.Tag(t.Context(), f.ID, nil) },
		} {
			now, err := b.Get(t.Context(), seen.ID)
			if err != nil {
				t.Fatal(err)
			}
			b.Inject(fake.Fault{Call: call, Effect: effect})
			if err := do(now); neutron.KindOf(err) != neutron.Uncertain {
				t.Errorf("%s, %s: %v", call, effect, err)
			}
		}
	}
	now, err := b.Get(t.Context(), seen.ID)
	if err != nil {
		t.Fatal(err)
	}
	b.Inject(fake.Fault{Call: "DeleteFloatingIP", Effect: fake.CutAfter})
	if err := b.Delete(t.Context(), now); neutron.KindOf(err) != neutron.Uncertain {
		t.Error(err)
	}
	if err := b.Delete(t.Context(), now); neutron.KindOf(err) != neutron.NotFound {
		t.Error(err)
	}
}

func TestALateExecutionIsFoundByItsDescription(t *testing.T) {
	t.Parallel()
	b := newBench(t, neutron.Options{})
	until := make(chan struct{})
	b.Inject(fake.Fault{Call: "CreateFloatingIP", Effect: fake.Late, Until: until})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := b.create(ctx, "late")
	if neutron.KindOf(err) != neutron.Uncertain || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if found, err := b.FindByDescription(t.Context(), b.network, "late"); err != nil || len(found) != 0 {
		t.Errorf("found %v, %v before its time", found, err)
	}
	close(until)
	for range 200 {
		if b.Count("CreateFloatingIP") == 1 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if found, err := b.FindByDescription(t.Context(), b.network, "late"); err != nil || len(found) != 1 {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestWhatWasNotSentIsNotUncertain(t *testing.T) {
	t.Parallel()
	b := newBench(t, neutron.Options{Limiter: rate.NewLimiter(rate.Every(time.Hour), 3)})
	// The limiter has let the two requests of Connect and the search for the network go.
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := b.create(ctx, ""); neutron.KindOf(err) != neutron.Busy {
		t.Errorf("limited: %v", err)
	}
	other := newBench(t, neutron.Options{})
	gone, end := context.WithCancel(t.Context())
	end()
	if _, err := other.create(gone, ""); neutron.KindOf(err) != neutron.Unavailable || !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	other.CloseIdleConnections()
	if err := other.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.create(t.Context(), ""); neutron.KindOf(err) != neutron.Unavailable {
		t.Errorf("nobody listens: %v", err)
	}
}

func TestATokenIsRenewedOnceForAll(t *testing.T) {
	t.Parallel()
	b := newBench(t, neutron.Options{})
	b.Reset()
	b.RevokeTokens()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := b.create(t.Context(), "renewed"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if found, err := b.FindByDescription(t.Context(), b.network, "renewed"); err != nil || len(found) != 20 {
		t.Errorf("%d, %v", len(found), err)
	}
	if n := b.Count("LogIn"); n != 1 {
		t.Errorf("%d log-ins", n)
	}
}

func TestAFailedRenewalIsNotUncertain(t *testing.T) {
	t.Parallel()
	b := newBench(t, neutron.Options{})
	for effect, want := range map[fake.Effect]neutron.Kind{fake.CutAfter: neutron.Unavailable, fake.Refuse: neutron.Unauthorized} {
		b.RevokeTokens()
		b.Inject(fake.Fault{Call: "LogIn", Effect: effect, Code: http.StatusUnauthorized})
		var known *neutron.Error
		if _, err := b.create(t.Context(), ""); !errors.As(err, &known) || known.Kind != want || known.Call != "LogIn" {
			t.Errorf("%s: %v", effect, err)
		}
	}
}

func TestMessagesHaveNoSecretThatAServerRepeats(t *testing.T) {
	t.Parallel()
	b := newBench(t, neutron.Options{})
	b.Inject(fake.Fault{
		Call: "CreateFloatingIP", Effect: fake.Refuse, Code: http.StatusBadRequest,
		Body: `{"NeutronError": {"type": "HTTPBadRequest", "message": "you said ` + openstack.Password(openstack.Member) + `\nhere"}}`,
	})
	_, err := b.create(t.Context(), "")
	if err == nil || strings.Contains(err.Error(), openstack.Password(openstack.Member)) || !strings.Contains(err.Error(), "you said ... here") {
		t.Error(err)
	}
}

func TestDeletionsReadBeforeWhereThereAreNoRevisions(t *testing.T) {
	t.Parallel()
	b := newBench(t, neutron.Options{})
	b.SetRevisions(false)
	old := b.connect(t, neutron.Options{})
	seen := b.mustCreate(t, "seen")
	b.Reset()
	if err := old.Delete(t.Context(), seen); err != nil {
		t.Fatal(err)
	}
	if b.Count("GetFloatingIP") != 1 || b.Count("DeleteFloatingIP") != 1 {
		t.Errorf("%v", b.Calls())
	}
}

func TestIDsLeadNowhereElse(t *testing.T) {
	t.Parallel()
	b := newBench(t, neutron.Options{})
	b.Reset()
	for _, id := range []string{"", "..", "a/tags", "a?x", "a%2f", strings.Repeat("a", 65)} {
		_, got := b.Get(t.Context(), id)
		_, created := b.Create(t.Context(), neutron.CreateOptions{NetworkID: id})
		_, described := b.Describe(t.Context(), neutron.FloatingIP{ID: id}, "")
		for _, err := range []error{got, created, described, b.Tag(t.Context(), id, nil), b.Delete(t.Context(), neutron.FloatingIP{ID: id})} {
			if neutron.KindOf(err) != neutron.Invalid {
				t.Errorf("%q: %v", id, err)
			}
		}
	}
	if len(b.Calls()) != 0 {
		t.Errorf("%v", b.Calls())
	}
}

func TestChangesAreConditionalAndCheap(t *testing.T) {
	t.Parallel()
	b := newBench(t, neutron.Options{})
	seen := b.mustCreate(t, "seen")
	b.Reset()
	seen, err := b.Describe(t.Context(), seen, "new")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(t.Context(), seen); err != nil {
		t.Fatal(err)
	}
	for _, call := range b.Calls() {
		if !strings.HasPrefix(call.IfMatch, "revision_number=") {
			t.Errorf("%+v has no condition", call)
		}
	}
	if n := len(b.Calls()); n != 2 {
		t.Errorf("%d calls", n)
	}
}

func TestAListThatBeginsAnewIsNotTakenForAWholeOne(t *testing.T) {
	t.Parallel()
	b := newBench(t, neutron.Options{PageSize: 2})
	for range 5 {
		b.mustCreate(t, "")
	}
	all, err := b.List(t.Context(), b.network)
	if err != nil || len(all) != 5 {
		t.Fatal(all, err)
	}
	until := make(chan struct{})
	b.Inject(fake.Fault{Call: "ListFloatingIPs", Skip: 1, Effect: fake.Delay, Until: until})
	done := make(chan error)
	go func() {
		_, err := b.List(t.Context(), b.network)
		done <- err
	}()
	for b.Count("ListFloatingIPs") < 4 { // three pages before, and the first of this list
		time.Sleep(time.Millisecond)
	}
	if err := b.Delete(t.Context(), all[1]); err != nil { // the last of the first page
		t.Error(err)
	}
	close(until)
	if err := <-done; neutron.KindOf(err) != neutron.Unavailable {
		t.Errorf("got %v", err)
	}
}

func TestAThousandFloatingIPs(t *testing.T) {
	t.Parallel()
	observed := map[string]int{}
	var mu sync.Mutex
	b := newBench(t, neutron.Options{Observer: func(call string, code int, took time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		if code == 0 || took < 0 {
			t.Errorf("%s: %d after %v", call, code, took)
		}
		observed[call]++
	}})
	for range 1000 {
		b.mustCreate(t, "")
	}
	all, err := b.List(t.Context(), b.network)
	if err != nil || len(all) != 1000 {
		t.Errorf("%d, %v", len(all), err)
	}
	// A page that is full has a next one, which is empty.
	if observed["CreateFloatingIP"] != 1000 || observed["ListFloatingIPs"] != 3 || observed["LogIn"] != 1 {
		t.Errorf("%v", observed)
	}
}

func TestTLSTrustsTheGivenCertificateOnly(t *testing.T) {
	t.Parallel()
	cloud := fake.StartTLS()
	t.Cleanup(func() { _ = cloud.Stop() })
	policy, err := neutron.ParseEndpointPolicy(cloud.Endpoints())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		cacert []byte
		want   neutron.Kind
	}{{cloud.CACert(), ""}, {nil, neutron.Unavailable}} {
		credentials, err := neutron.ParseClouds(cloud.CloudsYAML(), test.cacert, openstack.Member, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := neutron.Connect(t.Context(), credentials, neutron.Options{Policy: policy}); neutron.KindOf(err) != test.want {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

func TestTheCatalogsEndpointIsChecked(t *testing.T) {
	t.Parallel()
	b := newBench(t, neutron.Options{})
	b.SetNetworkEndpoint("http://169.254.169.254/network")
	credentials, err := neutron.ParseClouds(b.CloudsYAML(), nil, openstack.Member, "")
	if err != nil {
		t.Fatal(err)
	}
	policy, err := neutron.ParseEndpointPolicy(b.Endpoints())
	if err != nil {
		t.Fatal(err)
	}
	_, err = neutron.Connect(t.Context(), credentials, neutron.Options{Policy: policy})
	if neutron.KindOf(err) != neutron.Invalid || !strings.Contains(err.Error(), "169.254.169.254") {
		t.Error(err)
	}
}
