// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
)

// request is what a route gets. The cloud's lock is held while it works.
type request struct {
	project string
	// id is that of the path.
	id      string
	query   url.Values
	ifMatch string
	body    []byte
}

// answer is what a route returns; body may be nil.
type answer struct {
	code  int
	token string
	body  any
}

func ok(body any) (answer, error) { return answer{code: http.StatusOK, body: body}, nil }

// routes are the calls that the cloud understands, by pattern.
func (c *Cloud) routes() map[string]struct {
	name string
	run  func(request) (answer, error)
} {
	type route = struct {
		name string
		run  func(request) (answer, error)
	}
	const network, one = "/network/v2.0", "/network/v2.0/floatingips/{id}"
	return map[string]route{
		"POST /identity/v3/auth/tokens":           {"LogIn", c.logIn},
		"GET " + network + "/extensions":          {"ListExtensions", c.listExtensions},
		"GET " + network + "/networks":            {"ListNetworks", c.listNetworks},
		"GET " + network + "/subnets":             {"ListSubnets", c.listSubnets},
		"GET " + network + "/quotas/{id}/{which}": {"GetQuota", c.getQuota},
		"GET " + network + "/floatingips":         {"ListFloatingIPs", c.listFloatingIPs},
		"POST " + network + "/floatingips":        {"CreateFloatingIP", c.createFloatingIP},
		"GET " + one:                              {"GetFloatingIP", c.getFloatingIP},
		"PUT " + one:                              {"DescribeFloatingIP", c.describeFloatingIP},
		"DELETE " + one:                           {"DeleteFloatingIP", c.deleteFloatingIP},
		"PUT " + one + "/tags":                    {"TagFloatingIP", c.tagFloatingIP},
		"/":                                       {"Other", notFound},
	}
}

func notFound(request) (answer, error) {
	return answer{}, refuse(http.StatusNotFound, "HTTPNotFound", "The resource could not be found.")
}

func (c *Cloud) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, route := range c.routes() {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			c.serve(w, r, route.name, route.run)
		})
	}
	return mux
}

// serve runs one call, with its fault.
func (c *Cloud) serve(w http.ResponseWriter, r *http.Request, name string, run func(request) (answer, error)) {
	c.active.Add(1)
	defer c.active.Add(-1)
	call := Call{Name: name, Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, IfMatch: r.Header.Get("If-Match")}
	body, err := io.ReadAll(r.Body) // All of it: only then the server sees that a client goes.
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	fault := c.fault(name)
	if fault == nil {
		fault = &Fault{}
	}
	c.waitBefore(r, fault)
	var result answer
	if call.Executed = fault.Effect != Refuse && fault.Effect != CutBefore; call.Executed {
		result = c.execute(r, name, body, fault.Effect, run)
	}
	if fault.Effect == DelayAnswer {
		c.waitFor(fault)
	}
	switch fault.Effect {
	case Refuse, RefuseLate:
		result = answer{code: fault.Code, body: json.RawMessage(fault.Body)}
	case CutBefore, CutAfter, Late:
		result.code = 0
	default:
	}
	call.Code = result.code
	c.note(call)
	respond(w, result, fault)
}

func (c *Cloud) note(call Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call)
}

// waitBefore waits as the fault says, before the request is executed.
func (c *Cloud) waitBefore(r *http.Request, fault *Fault) {
	if fault.arrived != nil {
		close(fault.arrived)
	}
	switch fault.Effect {
	case Late:
		<-r.Context().Done()
		if fault.Until != nil {
			c.waitFor(fault)
		}
	case Delay:
		c.waitFor(fault)
	default:
	}
}

// waitFor waits for the fault's end, or that of the cloud.
func (c *Cloud) waitFor(fault *Fault) {
	var after <-chan time.Time
	if fault.For > 0 {
		after = time.After(fault.For)
	}
	select {
	case <-fault.Until:
	case <-after:
	case <-c.stopped:
	}
}

// underway is what a change is told of the request that makes it.
type underway struct {
	fault  Effect
	isGone bool
}

// execute checks the token and runs the call, under the lock.
func (c *Cloud) execute(r *http.Request, name string, body []byte, fault Effect, run func(request) (answer, error)) answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = underway{fault: fault, isGone: r.Context().Err() != nil}
	defer func() { c.now = underway{} }()
	project, known := c.tokens[r.Header.Get("X-Auth-Token")]
	if !known && name != "LogIn" {
		return refused(unauthorized())
	}
	result, err := run(request{
		project: project, id: r.PathValue("id"), query: r.URL.Query(), ifMatch: r.Header.Get("If-Match"), body: body,
	})
	if err != nil {
		return refused(err)
	}
	return result
}

func unauthorized() error {
	return &refusal{
		code: http.StatusUnauthorized, isKeystone: true, message: "The request you have made requires authentication.",
	}
}

func refused(err error) answer {
	var known *refusal
	if !errors.As(err, &known) {
		known = &refusal{code: http.StatusBadRequest, problem: "HTTPBadRequest", message: err.Error()}
	}
	return answer{code: known.code, body: known.body()}
}

// respond writes an answer, or a part of it, or none.
func respond(w http.ResponseWriter, result answer, fault *Fault) {
	if result.code == 0 {
		panic(http.ErrAbortHandler)
	}
	text, isRaw := result.body.(json.RawMessage)
	if !isRaw && result.body != nil {
		var buffer bytes.Buffer
		if err := json.NewEncoder(&buffer).Encode(result.body); err != nil {
			panic(err)
		}
		text = buffer.Bytes()
	}
	w.Header().Set("Content-Type", "application/json")
	if result.token != "" {
		w.Header().Set("X-Subject-Token", result.token)
	}
	if fault.RetryAfter != "" {
		w.Header().Set("Retry-After", fault.RetryAfter)
	}
	if result.code/100 == 3 {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(result.code)
	if fault.Effect == CutAnswer {
		text = text[:len(text)/2]
	}
	if _, err := w.Write(text); err != nil && result.code != http.StatusNoContent {
		panic(http.ErrAbortHandler)
	}
	if fault.Effect == CutAnswer {
		w.(http.Flusher).Flush() //nolint:forcetypeassert // every server's can
		panic(http.ErrAbortHandler)
	}
}

func (c *Cloud) logIn(r request) (answer, error) {
	user, err := c.authenticate(r.body)
	if err != nil {
		return answer{}, err
	}
	token := newID() + newID()
	c.tokens[token] = projectID(user)
	endpoint := object{"interface": "public", "region": openstack.Region, "region_id": openstack.Region, "url": c.endpoint}
	return answer{code: http.StatusCreated, token: token, body: object{"token": object{
		"project":    object{"id": projectID(user), "name": user, "domain": object{"id": "default", "name": "Default"}},
		"expires_at": "2999-01-01T00:00:00.000000Z",
		"catalog":    []object{{"type": "network", "name": "neutron", "endpoints": []object{endpoint}}},
	}}}, nil
}

// authenticate returns the user of a log-in by password or application credential.
func (c *Cloud) authenticate(body []byte) (user string, err error) {
	var asked struct {
		Auth struct {
			Identity struct {
				Password struct {
					User struct{ Name, Password string }
				}
				Credential struct{ ID, Secret string } `json:"application_credential"`
			}
		}
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return "", err
	}
	by := asked.Auth.Identity
	if secret, ok := c.credentials[by.Credential.ID]; ok && secret == by.Credential.Secret {
		return openstack.Member, nil
	}
	for _, name := range []string{openstack.Admin, openstack.Member, openstack.Other} {
		if by.Password.User.Name == name && by.Password.User.Password == openstack.Password(name) {
			return name, nil
		}
	}
	return "", unauthorized()
}

func (c *Cloud) listExtensions(request) (answer, error) {
	found := []object{{"alias": "router", "name": "Neutron L3 Router", "links": []any{}}}
	if c.hasRevisions {
		for _, alias := range []string{"standard-attr-revisions", "revision-if-match"} {
			found = append(found, object{"alias": alias, "name": alias, "links": []any{}})
		}
	}
	return ok(object{"extensions": found})
}

func (c *Cloud) listNetworks(r request) (answer, error) {
	return ok(object{"networks": c.visibleNetworks(r.query)})
}

func (c *Cloud) listSubnets(r request) (answer, error) {
	return ok(object{"subnets": c.visibleSubnets(r.project, r.query)})
}

func (c *Cloud) getQuota(r request) (answer, error) {
	return ok(object{"quota": object{"floatingip": c.quota(r.id)}})
}

func (c *Cloud) listFloatingIPs(r request) (answer, error) {
	page, hasNext := c.page(r.project, r.query)
	body := object{"floatingips": page}
	if hasNext {
		// A load balancer's clients cannot follow such a link.
		body["floatingips_links"] = []object{{"rel": "next", "href": "http://neutron.internal.invalid/v2.0/floatingips"}}
	}
	return ok(body)
}

func (c *Cloud) createFloatingIP(r request) (answer, error) {
	var body struct {
		FloatingIP createBody `json:"floatingip"`
	}
	if err := json.Unmarshal(r.body, &body); err != nil {
		return answer{}, err
	}
	f, err := c.create(r.project, body.FloatingIP)
	if err != nil {
		return answer{}, err
	}
	return answer{code: http.StatusCreated, body: object{"floatingip": c.shown(f)}}, nil
}

func (c *Cloud) getFloatingIP(r request) (answer, error) {
	f, err := c.visible(r.project, r.id)
	if err != nil {
		return answer{}, err
	}
	return ok(object{"floatingip": c.shown(f)})
}

func (c *Cloud) describeFloatingIP(r request) (answer, error) {
	var body struct {
		FloatingIP map[string]*string `json:"floatingip"`
	}
	if err := json.Unmarshal(r.body, &body); err != nil {
		return answer{}, err
	}
	f, err := c.update(r.project, r.id, r.ifMatch, body.FloatingIP)
	if err != nil {
		return answer{}, err
	}
	return ok(object{"floatingip": c.shown(f)})
}

func (c *Cloud) deleteFloatingIP(r request) (answer, error) {
	return answer{code: http.StatusNoContent}, c.remove(r.project, r.id, r.ifMatch)
}

func (c *Cloud) tagFloatingIP(r request) (answer, error) {
	var body struct{ Tags []string }
	if err := json.Unmarshal(r.body, &body); err != nil {
		return answer{}, err
	}
	if err := c.tag(r.project, r.id, body.Tags); err != nil {
		return answer{}, err
	}
	return ok(object{"tags": body.Tags})
}
