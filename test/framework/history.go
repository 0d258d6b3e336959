// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
)

const (
	// historyBegin and historyEnd enclose what etcd keeps of all groups that have
	// claims, IPAddresses, records or pools, and the notes of suites.
	historyBegin, historyEnd = "/registry/ipam.", "/registry/ipam/"
	historyNotes             = "/registry/ipam.history/"
	metal3Keys               = "/registry/ipam.metal3.io/"
	heldNotes                = historyNotes + "held/"
	historyRetry             = 100 * time.Millisecond
)

// errCompacted: etcd has forgotten what a watch would begin with.
var errCompacted = errors.New("etcd has forgotten these changes")

// History follows every claim, IPAddress, record and pool from one write to the
// next and looks at each moment, where Check sees what lists happen to show.
// One watch at etcd delivers the changes of all kinds in the order of their
// revisions; the API server's watches, one for each kind, have no common order
// but by the same revisions, and no way to say that one of them is quiet.
type History struct {
	url  string
	stop context.CancelFunc
	done chan struct{}

	mu    sync.Mutex
	past  *past
	marks map[string]chan *Moment
	last  int
	err   error
}

// Moment is what a history had come to at a revision.
type Moment struct {
	Revision int64
	// Findings are what was wrong at any moment up to then.
	Findings []string
	// Late are the IPAddresses still there that were made when their claim had
	// been let go.
	Late    []string
	Account HistoryAccount

	held map[types.UID]tenure
}

// tenure is what somebody holds, and since which revision.
type tenure struct {
	*fsck.Holding
	since int64
}

// FollowHistory begins with what is stored now in the etcd at a URL.
func FollowHistory(ctx context.Context, url string) (*History, error) {
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	h := &History{url: url, stop: stop, done: make(chan struct{}), past: newPast(), marks: map[string]chan *Moment{}}
	next, err := h.list(ctx, true)
	if err != nil {
		stop()
		return nil, err
	}
	go func() {
		defer close(h.done)
		h.follow(following, next)
	}()
	return h, nil
}

// Stop ends it.
func (h *History) Stop() {
	h.stop()
	<-h.done
}

// Now waits until everything that was stored before the call has been looked at,
// and returns what was found up to a revision between call and return.
func (h *History) Now(ctx context.Context) (*Moment, error) {
	h.mu.Lock()
	h.last++
	key, reached := fmt.Sprintf("%smark/%d", historyNotes, h.last), make(chan *Moment, 1)
	h.marks[key] = reached
	h.mu.Unlock()
	if err := h.note(ctx, key, "now"); err != nil {
		return nil, err
	}
	select {
	case moment := <-reached:
		return moment, h.erase(ctx, key)
	case <-h.done:
		h.mu.Lock()
		defer h.mu.Unlock()
		return nil, fmt.Errorf("the history has ended: %w", cmp.Or(h.err, context.Canceled))
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the history: %w", ctx.Err())
	}
}

// Hold says that from now on somebody holds a prefix for whose claim there is no
// object, until Release says that this has ended.
func (h *History) Hold(ctx context.Context, held fsck.Held) error {
	i := &fsck.Item{Kind: heldKind}
	i.Metadata.Name, i.Metadata.UID = string(held.UID), held.UID
	i.Spec.AddressSpace, i.Spec.CIDR = held.Space, held.CIDR.String()
	body, err := json.Marshal(i)
	if err != nil {
		return fmt.Errorf("encoding a note: %w", err)
	}
	return h.note(ctx, heldNotes+string(held.UID), string(body))
}

// Release ends what Hold has said.
func (h *History) Release(ctx context.Context, uid types.UID) error {
	return h.erase(ctx, heldNotes+string(uid))
}

func (h *History) note(ctx context.Context, key, value string) error {
	_, err := etcdCall(ctx, h.url+"/v3/kv/put", map[string]any{"key": []byte(key), "value": []byte(value)})
	return err
}

func (h *History) erase(ctx context.Context, key string) error {
	_, err := etcdCall(ctx, h.url+"/v3/kv/deleterange", map[string]any{"key": []byte(key)})
	return err
}

// follow replays what comes, until ctx ends or something cannot be read.
func (h *History) follow(ctx context.Context, next int64) {
	for ctx.Err() == nil {
		err := h.watch(ctx, &next)
		if errors.Is(err, errCompacted) {
			var after int64
			if after, err = h.list(ctx, false); err == nil {
				next = after
			}
		}
		if unreadable := (*unreadableError)(nil); errors.As(err, &unreadable) {
			h.mu.Lock()
			h.err = err
			h.mu.Unlock()
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(historyRetry):
		}
	}
}

// watchReply is a message of etcd's watch in its JSON form.
type watchReply struct {
	Result struct {
		Canceled        bool   `json:"canceled"`
		CompactRevision string `json:"compact_revision"`
		Events          []struct {
			Type string   `json:"type"`
			KV   keyValue `json:"kv"`
		} `json:"events"`
	} `json:"result"`
}

// watch replays changes from the revision next on, which it moves along.
func (h *History) watch(ctx context.Context, next *int64) error {
	body, err := etcdStream(ctx, h.url+"/v3/watch", map[string]any{"create_request": map[string]any{
		"key": []byte(historyBegin), "range_end": []byte(historyEnd), "start_revision": *next,
	}})
	if err != nil {
		return err
	}
	defer body.Close()
	for decoder := json.NewDecoder(body); ; {
		reply := &watchReply{}
		if err := decoder.Decode(reply); err != nil {
			return fmt.Errorf("watching etcd: %w", err)
		}
		if reply.Result.Canceled {
			if reply.Result.CompactRevision != "" {
				return errCompacted
			}
			return errors.New("etcd has ended the watch")
		}
		for _, event := range reply.Result.Events {
			if err := h.replay(&event.KV, event.Type == "DELETE"); err != nil {
				return err
			}
			*next = event.KV.ModRevision + 1
		}
	}
}

func (h *History) replay(kv *keyValue, isDeletion bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := change{revision: kv.ModRevision, key: string(kv.Key), isFirst: kv.CreateRevision == kv.ModRevision}
	if !isDeletion {
		h.reach(c.key, kv.ModRevision)
		var err error
		if c.object, err = stored(kv); err != nil {
			return err
		}
	}
	h.past.apply(c)
	return nil
}

// reach tells whoever waits for a mark.
func (h *History) reach(key string, revision int64) {
	reached, ok := h.marks[key]
	if !ok {
		return
	}
	delete(h.marks, key)
	moment := &Moment{
		Revision: revision, Findings: slices.Clone(h.past.findings), Late: h.past.late(), Account: h.past.account, held: map[types.UID]tenure{},
	}
	for uid, l := range h.past.lives {
		if l.has != nil {
			moment.held[uid] = tenure{h.past.asNow(l.has), l.since}
		}
	}
	reached <- moment
}

// list replays what is stored now as what has changed since the last change that
// was seen: when it changed is not known. So what has gone went first, and what
// has come came last, which never makes two holders of one. It returns the next
// revision.
func (h *History) list(ctx context.Context, isFirst bool) (int64, error) {
	reply, err := etcdCall(ctx, h.url+"/v3/kv/range", map[string]any{"key": []byte(historyBegin), "range_end": []byte(historyEnd)})
	if err != nil {
		return 0, err
	}
	var revision int64
	if _, err = fmt.Sscan(reply.Header.Revision, &revision); err != nil {
		return 0, fmt.Errorf("reading etcd's revision: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !isFirst {
		h.past.account.Gaps++
	}
	there := map[string]*fsck.Item{}
	for i := range reply.KVs {
		key := string(reply.KVs[i].Key)
		if there[key], err = stored(&reply.KVs[i]); err != nil {
			return 0, err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(h.past.objects)) {
		if object := there[key]; object == nil || object.Metadata.UID != h.past.objects[key].Metadata.UID {
			h.past.apply(change{revision: revision, key: key, isMissed: true})
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(there), listOrder(there)) {
		object, before := there[key], h.past.objects[key]
		if object != nil && (before == nil || before.Metadata.ResourceVersion != object.Metadata.ResourceVersion) {
			h.past.apply(change{revision: revision, key: key, object: object, isMissed: true})
		}
	}
	for key := range there {
		h.reach(key, revision)
	}
	return revision + 1, nil
}

// listOrder has pools and records before claims, and IPAddresses last: each after
// what it refers to.
func listOrder(objects map[string]*fsck.Item) func(a, b string) int {
	rank := func(key string) int {
		switch object := objects[key]; {
		case object == nil, object.IsPool(), object.Kind == "IPAllocation":
			return 0
		case object.Kind != "IPAddress":
			return 1
		}
		return 2
	}
	return func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b)) }
}

// unreadableError: what is stored is not what the history knows how to read.
type unreadableError struct {
	key string
	err error
}

func (e *unreadableError) Error() string { return fmt.Sprintf("reading %s: %v", e.key, e.err) }

func (e *unreadableError) Unwrap() error { return e.err }

// stored returns the object under a key; nil if it is a mark, or of Metal3's kinds: of those the status of the claim
// says who has an address, and not the IPAddress.
func stored(kv *keyValue) (*fsck.Item, error) {
	key := string(kv.Key)
	if strings.HasPrefix(key, metal3Keys) {
		return nil, nil //nolint:nilnil // not followed
	}
	if strings.HasPrefix(key, historyNotes) && !strings.HasPrefix(key, heldNotes) {
		return nil, nil //nolint:nilnil // a mark
	}
	i := &fsck.Item{}
	if err := json.Unmarshal(kv.Value, i); err != nil {
		return nil, &unreadableError{key: key, err: err}
	}
	i.Group, _, _ = strings.Cut(strings.TrimPrefix(key, "/registry/"), "/")
	i.Metadata.ResourceVersion = fmt.Sprint(kv.ModRevision)
	return i, nil
}
