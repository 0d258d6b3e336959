// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"crypto/rand"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
)

// Cloud is a running fake.
type Cloud struct {
	server *httptest.Server

	mu sync.Mutex
	// tokens are those that are valid, with their project.
	tokens map[string]string
	// credentials are application credentials of the member: id to secret.
	credentials map[string]string
	networks    []network
	// router is the id of the one to every port.
	router      string
	floatingIPs map[string]*floatingIP
	// used are the addresses that somebody has.
	used map[netip.Addr]bool
	// quotas are limits by project; without an entry there is none.
	quotas map[string]int
	policy map[string]string
	// endpoint is Neutron's in the catalog.
	endpoint string
	// hasRevisions says that objects have revisions and If-Match is honoured.
	hasRevisions bool
	faults       []*Fault
	calls        []Call
	changes      []Change
	// now is the request that is executed.
	now underway
	// stopped ends what waits; stop closes it.
	stopped chan struct{}
	stop    func()
	// active is how many requests are being served.
	active atomic.Int32
}

type network struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Tags     []string `json:"tags"`
	External bool     `json:"router:external"`

	subnets []subnet
}

type subnet struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	NetworkID string `json:"network_id"`

	first, last netip.Addr
}

// Start starts a cloud over HTTP, with the projects, users and networks of every test cloud.
func Start() *Cloud {
	c := newCloud()
	c.server.Start()
	c.endpoint = c.server.URL + "/network"
	return c
}

// StartTLS starts a cloud over HTTPS, with a certificate of its own; see CACert.
func StartTLS() *Cloud {
	c := newCloud()
	c.server.StartTLS()
	c.endpoint = c.server.URL + "/network"
	return c
}

func newCloud() *Cloud {
	c := &Cloud{
		tokens: map[string]string{}, credentials: map[string]string{}, floatingIPs: map[string]*floatingIP{},
		used: map[netip.Addr]bool{}, quotas: map[string]int{}, hasRevisions: true,
		stopped: make(chan struct{}), router: newID(),
	}
	c.stop = sync.OnceFunc(func() { close(c.stopped) })
	c.addNetwork(openstack.Public, []string{"public-a", "198.18.0.10", "198.18.15.250"}, []string{"public-b", "198.18.16.10", "198.18.31.250"})
	c.addNetwork(openstack.Tiny, []string{"tiny-a", "192.0.2.2", "192.0.2.4"})
	c.server = httptest.NewUnstartedServer(c.handler())
	return c
}

func (c *Cloud) addNetwork(name string, subnets ...[]string) {
	n := network{ID: newID(), Name: name, Tags: []string{}, External: true}
	for _, s := range subnets {
		n.subnets = append(n.subnets, subnet{
			ID: newID(), Name: s[0], NetworkID: n.ID, first: netip.MustParseAddr(s[1]), last: netip.MustParseAddr(s[2]),
		})
	}
	c.networks = append(c.networks, n)
}

// newID returns a random UUID.
func newID() string {
	text := []byte(rand.Text() + rand.Text())[:36]
	for i, char := range text {
		text[i] = "0123456789abcdef"[char%16]
	}
	for _, i := range []int{8, 13, 18, 23} {
		text[i] = '-'
	}
	return string(text)
}

// Stop ends the cloud, and breaks off what still runs.
func (c *Cloud) Stop() error {
	c.stop()
	c.server.CloseClientConnections()
	c.server.Close()
	return nil
}

// URL returns the cloud's base URL: Keystone is at /identity, Neutron at /network.
func (c *Cloud) URL() string { return c.server.URL }

// Endpoints are patterns that allow for the cloud's URLs.
func (c *Cloud) Endpoints() []string { return []string{c.server.URL} }

// CACert returns the certificate of a cloud over HTTPS.
func (c *Cloud) CACert() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.server.Certificate().Raw})
}

// CloudsYAML returns a clouds.yaml with the entries admin, member and other, which log in by password.
func (c *Cloud) CloudsYAML() []byte { return openstack.CloudsYAML(c.server.URL + "/identity") }

// ApplicationCredential makes an application credential of the member and returns its id.
func (c *Cloud) ApplicationCredential(_ context.Context, _, secret string) (id string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id = newID()
	c.credentials[id] = secret
	return id, nil
}

// RevokeTokens makes every token invalid.
func (c *Cloud) RevokeTokens() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.tokens)
}

// Tokens returns the tokens that are valid: no message may contain one.
func (c *Cloud) Tokens() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.tokens))
}

// SetQuota sets how many floating IPs the member's project may have; -1 is no limit.
func (c *Cloud) SetQuota(_ context.Context, limit int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quotas[projectID(openstack.Member)] = limit
	return nil
}

// SetPolicy sets rules of Neutron's policy. The fake knows "!" (nobody) for {create,update,delete}_floatingip.
func (c *Cloud) SetPolicy(rules map[string]string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.policy = rules
	return nil
}

// SetRevisions says whether the cloud has revisions and honours If-Match, as a new one does. Connect again after it.
func (c *Cloud) SetRevisions(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hasRevisions = on
}

// SetNetworkEndpoint sets what the catalog says of Neutron.
func (c *Cloud) SetNetworkEndpoint(url string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endpoint = url
}

// Bind binds a floating IP to a new port and returns the port.
func (c *Cloud) Bind(_ context.Context, id string) (port string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.floatingIPs[id]
	if !ok {
		return "", missing("FloatingIP", id)
	}
	before := f.now()
	port = newID()
	f.PortID, f.RouterID = &port, &c.router
	f.Revision++
	c.changed("Bind", before, f.now())
	return port, nil
}

// Disassociate takes a floating IP from its port.
func (c *Cloud) Disassociate(_ context.Context, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.floatingIPs[id]
	if !ok {
		return missing("FloatingIP", id)
	}
	before := f.now()
	f.PortID, f.RouterID = nil, nil
	f.Revision++
	c.changed("Unbind", before, f.now())
	return nil
}

// Forward makes a port forwarding of a floating IP to a new port, and returns the port.
func (c *Cloud) Forward(_ context.Context, id string) (port string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.floatingIPs[id]
	switch {
	case !ok:
		return "", missing("FloatingIP", id)
	case f.PortID != nil:
		return "", refuse(http.StatusConflict, "FloatingIPPortAlreadyAssociated", "the floating IP already has a fixed IP")
	}
	before := f.now()
	port = newID()
	f.ForwardedTo, f.RouterID = port, &c.router
	f.Revision++
	c.changed("Bind", before, f.now())
	return port, nil
}

// Unbind deletes the port that a floating IP is bound to, or forwarded to.
func (c *Cloud) Unbind(_ context.Context, port string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.floatingIPs {
		if f.ForwardedTo == port || f.PortID != nil && *f.PortID == port {
			before := f.now()
			f.PortID, f.RouterID, f.ForwardedTo = nil, nil, ""
			f.Revision++
			c.changed("Unbind", before, f.now())
		}
	}
	return nil
}

// projectID returns the id of a project.
func projectID(name string) string { return "project-of-" + name }
