// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// compactionDelay is how long after its revision history is compacted.
const compactionDelay = 500 * time.Millisecond

// electionPoll is how often the members are asked who leads.
const electionPoll = 100 * time.Millisecond

// member is one process of etcd.
type member struct {
	name         string
	client, peer int
	process      *process
}

func (m *member) url() string { return "http://" + hostPort(m.client) }

func (m *member) peerURL() string { return "http://" + hostPort(m.peer) }

// newMembers names the members: the first is "etcd", as its log is.
func newMembers(n int) []*member {
	members := []*member{{name: "etcd"}}
	for i := 2; i <= n; i++ {
		members = append(members, &member{name: fmt.Sprintf("etcd-%d", i)})
	}
	return members
}

// formEtcd starts etcd without data. Where a port was taken, all members begin
// anew: they know each other by their ports.
func (cp *ControlPlane) formEtcd(ctx context.Context) error {
	for _, m := range cp.etcd {
		if err := os.RemoveAll(cp.path(m.name)); err != nil {
			return fmt.Errorf("removing etcd's data: %w", err)
		}
	}
	err := cp.startEtcd(ctx, cp.etcd...)
	if err == nil || !cp.etcdLostPort() {
		return err
	}
	return errors.Join(err, cp.killEtcd())
}

func (cp *ControlPlane) etcdLostPort() bool {
	return slices.ContainsFunc(cp.etcd, func(m *member) bool { return m.process != nil && m.process.lostPort() })
}

// startEtcd starts the members that do not run, all before it waits for any: one alone does not
// get ready.
func (cp *ControlPlane) startEtcd(ctx context.Context, members ...*member) error {
	for _, m := range members {
		if m.process != nil && m.process.running() {
			continue
		}
		var err error
		if m.process, err = cp.runAs("etcd", m.name, cp.etcdArgs(m)); err != nil {
			return err
		}
	}
	for _, m := range members {
		if err := m.process.wait(ctx, httpProbe(http.DefaultClient, m.url()+"/health")); err != nil {
			return err
		}
	}
	return nil
}

func (cp *ControlPlane) etcdArgs(m *member) []string {
	peers := make([]string, 0, len(cp.etcd))
	for _, other := range cp.etcd {
		peers = append(peers, other.name+"="+other.peerURL())
	}
	args := []string{
		"--name=" + m.name,
		"--data-dir=" + cp.path(m.name),
		"--listen-client-urls=" + m.url(),
		"--advertise-client-urls=" + m.url(),
		"--listen-peer-urls=" + m.peerURL(),
		"--initial-advertise-peer-urls=" + m.peerURL(),
		"--initial-cluster=" + strings.Join(peers, ","),
		"--log-level=warn",
	}
	if !cp.opts.Fsync {
		args = append(args, "--unsafe-no-fsync")
	}
	return args
}

func (cp *ControlPlane) etcdURLs() []string {
	urls := make([]string, 0, len(cp.etcd))
	for _, m := range cp.etcd {
		urls = append(urls, m.url())
	}
	return urls
}

func (cp *ControlPlane) killEtcd() error {
	var errs []error
	for _, m := range cp.etcd {
		if m.process != nil {
			errs = append(errs, m.process.kill())
		}
	}
	return errors.Join(errs...)
}

// RestartEtcd kills all of etcd and starts it again on its data and ports. The
// API server stays up and answers errors meanwhile.
func (cp *ControlPlane) RestartEtcd(ctx context.Context) error {
	if err := cp.killEtcd(); err != nil {
		return err
	}
	return cp.again(ctx, func(ctx context.Context) error { return cp.startEtcd(ctx, cp.etcd...) }, cp.etcdLostPort)
}

// KillEtcdLeader kills the member of etcd that leads, and returns once another
// one does. The returned function starts it again on its data.
func (cp *ControlPlane) KillEtcdLeader(ctx context.Context) (restart func(context.Context) error, err error) {
	leader, err := cp.etcdLeader(ctx)
	if err != nil {
		return nil, err
	}
	if err := leader.process.kill(); err != nil {
		return nil, err
	}
	restart = func(ctx context.Context) error {
		start := func(ctx context.Context) error { return cp.startEtcd(ctx, leader) }
		return cp.again(ctx, start, cp.etcdLostPort)
	}
	for {
		if next, err := cp.etcdLeader(ctx); err == nil && next != leader {
			return restart, nil
		}
		select {
		case <-ctx.Done():
			return restart, fmt.Errorf("waiting for another leader of etcd: %w", ctx.Err())
		case <-time.After(electionPoll):
		}
	}
}

// etcdLeader returns the running member that says of itself that it leads.
func (cp *ControlPlane) etcdLeader(ctx context.Context) (*member, error) {
	for _, m := range cp.etcd {
		if !m.process.running() {
			continue
		}
		status, err := etcdCall(ctx, m.url()+"/v3/maintenance/status", struct{}{})
		if err != nil {
			return nil, err
		}
		if status.Leader == status.Header.MemberID {
			return m, nil
		}
	}
	return nil, errors.New("no member of etcd leads")
}

// Compact makes etcd forget its history up to the call: who goes on watching from
// an earlier revision, without a watch cache in between, has to list again. It
// waits a moment first, so that whoever watches all the time is not hurt.
func (cp *ControlPlane) Compact(ctx context.Context) error {
	now, err := etcdCall(ctx, cp.EtcdURL()+"/v3/kv/range", map[string]any{"key": []byte{0}})
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(compactionDelay):
	}
	_, err = etcdCall(ctx, cp.EtcdURL()+"/v3/kv/compaction", map[string]any{"revision": now.Header.Revision})
	if err != nil && strings.Contains(err.Error(), "required revision has been compacted") {
		return nil // nothing was written since
	}
	return err
}

// Erase removes everything under prefixes of etcd's keys, such as "/registry/ipam.weir.dev/", past the API server: no finalizer holds
// it. Who watches sees it go.
func (cp *ControlPlane) Erase(ctx context.Context, prefixes ...string) error {
	for _, prefix := range prefixes {
		end := []byte(prefix)
		end[len(end)-1]++
		if _, err := etcdCall(ctx, cp.EtcdURL()+"/v3/kv/deleterange", map[string]any{"key": []byte(prefix), "range_end": end}); err != nil {
			return err
		}
	}
	return nil
}

// etcdReply is what is used of etcd's replies. Its JSON has numbers as text.
type etcdReply struct {
	Header struct {
		MemberID string `json:"member_id"`
		Revision string `json:"revision"`
	} `json:"header"`
	Leader string     `json:"leader"`
	KVs    []keyValue `json:"kvs"`
}

// keyValue is one key of etcd's. Of one that was deleted only the key and the
// revision of its deletion are known.
type keyValue struct {
	Key            []byte `json:"key"`
	Value          []byte `json:"value"`
	CreateRevision int64  `json:"create_revision,string"`
	ModRevision    int64  `json:"mod_revision,string"`
}

// etcdCall makes a call of etcd's API in its JSON form.
func etcdCall(ctx context.Context, url string, request any) (*etcdReply, error) {
	body, err := etcdStream(ctx, url, request)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	reply := &etcdReply{}
	if err := json.NewDecoder(body).Decode(reply); err != nil {
		return nil, fmt.Errorf("reading etcd's reply: %w", err)
	}
	return reply, nil
}

// etcdStream makes a call that may be answered more than once.
func etcdStream(ctx context.Context, url string, request any) (io.ReadCloser, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("encoding a request to etcd: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("building a request to etcd: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking etcd: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		message, readErr := io.ReadAll(resp.Body)
		return nil, errors.Join(fmt.Errorf("asking etcd: %s: %s: %s", url, resp.Status, message), readErr)
	}
	return resp.Body, nil
}
