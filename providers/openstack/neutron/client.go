// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/common/extensions"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

// Names of the calls, as Observer and Error have them.
const (
	callLogIn      = "LogIn"
	callExtensions = "ListExtensions"
	callNetworks   = "ListNetworks"
	callSubnets    = "ListSubnets"
	callList       = "ListFloatingIPs"
	callGet        = "GetFloatingIP"
	callCreate     = "CreateFloatingIP"
	callDescribe   = "DescribeFloatingIP"
	callDelete     = "DeleteFloatingIP"
	callTag        = "TagFloatingIP"
	callQuota      = "GetQuota"
)

// Observer hears of every request that was sent: the name of its call, the HTTP status (0 without an answer) and the time until
// the answer's head. It is called from many goroutines.
type Observer func(call string, code int, took time.Duration)

// Timeouts bound a call. Zero fields get the defaults.
type Timeouts struct {
	// Dial is for DNS and TCP (default 5 s), TLSHandshake for TLS (default 5 s).
	Dial, TLSHandshake time.Duration
	// ResponseHeader is from the request to the head of its answer (default 30 s).
	ResponseHeader time.Duration
	// Call is for a whole call: waiting for the limiter, a new log-in and reading the answer included (default 60 s). A list has it for
	// each page.
	Call time.Duration
}

// Options of a client. The zero value is ready to use.
type Options struct {
	// Policy is checked for every request; the zero value is the default policy.
	Policy   EndpointPolicy
	Timeouts Timeouts
	// UserAgent is put before gophercloud's own; it may be empty.
	UserAgent string
	// Observer may be nil.
	Observer Observer
	// Limiter, if not nil, is waited for before each request. Several clients may share one.
	Limiter *rate.Limiter
	// PageSize is how many floating IPs are asked for at once, 1 to 1000 (default 500). The cloud may give fewer.
	PageSize int
	// Clock is for durations and dates (default: the real one).
	Clock clock.PassiveClock
}

const (
	defaultPageSize = 500
	maxPageSize     = 1000
)

func (o Options) withDefaults() Options {
	t := &o.Timeouts
	t.Dial, t.TLSHandshake = cmp.Or(t.Dial, 5*time.Second), cmp.Or(t.TLSHandshake, 5*time.Second)
	t.ResponseHeader, t.Call = cmp.Or(t.ResponseHeader, 30*time.Second), cmp.Or(t.Call, time.Minute)
	o.PageSize = min(max(cmp.Or(o.PageSize, defaultPageSize), 1), maxPageSize)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}

// Client calls Neutron for one project. It is safe for concurrent use.
type Client struct {
	service *gophercloud.ServiceClient
	login   *login
	options Options
	project string
	// isConditional says that the cloud honours If-Match with a revision number.
	isConditional bool
}

// Connect logs in and looks up the network service and what it supports: two requests.
//
// Endpoints are those of the catalog at this moment. A log-in is repeated by itself when a token is refused, once for each call and
// once for all calls that wait for it. Errors are *Error: Unauthorized for wrong credentials, Invalid for an endpoint that the policy
// refuses and for a catalog without (one) network service in the region.
func Connect(ctx context.Context, credentials Credentials, options Options) (*Client, error) {
	if credentials.login == nil {
		return nil, &Error{Call: callLogIn, Kind: Invalid, Message: "no credentials"}
	}
	c := &Client{login: credentials.login(), options: options.withDefaults()}
	provider, err := c.newProvider()
	if err != nil {
		return nil, err
	}
	c.service = &gophercloud.ServiceClient{ProviderClient: provider, Type: "network"}
	if err = c.call(ctx, callLogIn, c.open); err == nil {
		err = c.call(ctx, callExtensions, c.lookUpExtensions)
	}
	if err != nil {
		c.CloseIdleConnections()
		return nil, err
	}
	return c, nil
}

// IsConditional reports whether the cloud honours the condition of a change: without that, one that
// comes between a look and the change is lost.
func (c *Client) IsConditional() bool { return c.isConditional }

// CloseIdleConnections closes the connections that no call uses: for a client that is no longer wanted.
func (c *Client) CloseIdleConnections() { c.service.HTTPClient.CloseIdleConnections() }

// Project returns the id of the project that the credentials are for.
func (c *Client) Project() string { return c.project }

// newProvider returns gophercloud's client, not logged in. It repeats nothing by itself but a log-in.
func (c *Client) newProvider() (*gophercloud.ProviderClient, error) {
	provider, err := openstack.NewClient(c.login.options.IdentityEndpoint)
	if err != nil {
		return nil, &Error{Call: callLogIn, Kind: Invalid, Message: "auth_url is no URL of Keystone"}
	}
	if provider.HTTPClient, err = newHTTPClient(c.options, c.login.cacert); err != nil {
		return nil, &Error{Call: callLogIn, Kind: Invalid, Message: err.Error()}
	}
	if c.options.UserAgent != "" {
		provider.UserAgent.Prepend(c.options.UserAgent)
	}
	return provider, nil
}

// open logs in and takes project and endpoint from the token.
func (c *Client) open(ctx context.Context) error {
	provider := c.service.ProviderClient
	token, err := c.logIn(ctx)
	if err != nil {
		return err
	}
	if err := c.readToken(token); err != nil {
		return err
	}
	if err := provider.SetTokenAndAuthResult(token); err != nil {
		return err
	}
	provider.ReauthFunc = func(ctx context.Context) error {
		renewed, err := c.logIn(ctx)
		if err != nil {
			return err
		}
		return provider.SetTokenAndAuthResult(renewed)
	}
	return nil
}

// logIn asks Keystone for a token. It uses a gophercloud client of its own, without token and lock: the shared one waits for a log-in
// that is under way, and this may be it.
func (c *Client) logIn(ctx context.Context) (tokens.CreateResult, error) {
	ctx, _ = withFlight(ctx, callLogIn)
	keystone := &gophercloud.ServiceClient{
		ProviderClient: &gophercloud.ProviderClient{
			HTTPClient: c.service.HTTPClient,
			UserAgent:  c.service.UserAgent,
		},
		Endpoint: c.login.options.IdentityEndpoint,
	}
	options := c.login.options // a copy: gophercloud writes into it
	result := tokens.Create(ctx, keystone, &options)
	return result, result.Err
}

// readToken takes project and endpoint from a token.
func (c *Client) readToken(token tokens.CreateResult) error {
	project, err := token.ExtractProject()
	if err != nil {
		return err
	}
	if project == nil || project.ID == "" {
		return &Error{Call: callLogIn, Kind: Invalid, Message: "the credentials are for no project"}
	}
	catalog, err := token.ExtractServiceCatalog()
	if err != nil {
		return err
	}
	endpoint, err := c.networkEndpoint(catalog)
	if err != nil {
		return &Error{Call: callLogIn, Kind: Invalid, Message: shorten(err.Error())}
	}
	c.project, c.service.Endpoint, c.service.ResourceBase = project.ID, endpoint, endpoint+"v2.0/"
	return nil
}

// networkEndpoint returns the base URL of the one network service of the catalog, without version and with a slash at its end. The
// first request to it is checked like every other.
func (c *Client) networkEndpoint(catalog *tokens.ServiceCatalog) (string, error) {
	byRegion := map[string]string{}
	for _, entry := range catalog.Entries {
		for _, e := range entry.Endpoints {
			region := cmp.Or(e.RegionID, e.Region)
			isWanted := entry.Type == "network" && e.Interface == c.login.endpoints
			if isWanted && (c.login.region == "" || c.login.region == region) {
				byRegion[region] = e.URL
			}
		}
	}
	if len(byRegion) != 1 {
		return "", fmt.Errorf("the catalog has %d regions with a network service (region %q, interface %s); one is needed",
			len(byRegion), c.login.region, c.login.endpoints)
	}
	for _, endpoint := range byRegion {
		u, err := url.Parse(endpoint)
		if err != nil || !isPlain(u) {
			return "", fmt.Errorf("the catalog's network endpoint is no plain URL")
		}
		return strings.TrimSuffix(strings.TrimRight(u.String(), "/"), "/v2.0") + "/", nil
	}
	return "", nil
}

// conditionalAliases name what If-Match needs: objects with revision numbers, and the condition on them.
var conditionalAliases = []string{"standard-attr-revisions", "revision-if-match"}

func (c *Client) lookUpExtensions(ctx context.Context) error {
	page, err := extensions.List(c.service).AllPages(ctx)
	if err != nil {
		return err
	}
	known, err := extensions.ExtractExtensions(page)
	if err != nil {
		return err
	}
	c.isConditional = true
	for _, alias := range conditionalAliases {
		if !slices.ContainsFunc(known, func(e extensions.Extension) bool { return e.Alias == alias }) {
			c.isConditional = false
		}
	}
	return nil
}

// call runs a call that changes nothing, within its time, and makes the *Error of its failure.
func (c *Client) call(ctx context.Context, name string, run func(context.Context) error) error {
	return c.run(ctx, attempt{call: name}, run)
}

// change runs a call that changes something: what may have been executed is Uncertain.
func (c *Client) change(ctx context.Context, name string, run func(context.Context) error) error {
	return c.run(ctx, attempt{call: name, changes: true}, run)
}

func (c *Client) run(ctx context.Context, a attempt, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, c.options.Timeouts.Call)
	defer cancel()
	limited, f := withFlight(limited, a.call)
	err := do(limited)
	if err == nil {
		return nil
	}
	a.sent, a.ended = f.sent.Load(), ctx.Err()
	return a.fault(err, c.options.Clock.Now(), c.redact)
}

// redact takes the credentials' secrets and the token out of what a server has said.
func (c *Client) redact(message string) string {
	for _, secret := range append(c.login.secrets(), c.service.Token()) {
		if secret != "" {
			message = strings.ReplaceAll(message, secret, "...")
		}
	}
	return message
}
