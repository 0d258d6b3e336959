// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package propagator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// MemberLabel names the member that an object at the hub is placed at.
const MemberLabel = "ipam.weir.dev/delegated-to"

const (
	// pollInterval is when the hub and the members are looked at again.
	pollInterval = 200 * time.Millisecond
	// requestTimeout bounds the requests of one look: a cluster that hangs must not hold up Stop.
	requestTimeout = 10 * time.Second
)

// Placement carries objects with MemberLabel from a hub to the members that it names, from Start to
// Stop. A Propagator is one. A real Karmada is another: with a policy for each member that selects
// the label, and is suspended in between.
type Placement interface {
	Start()
	Stop()
}

// Propagator is a Placement. From one Start to the next it remembers what it has placed.
type Propagator struct {
	hub     client.Client
	members map[string]client.Client
	kinds   []schema.GroupVersionKind

	end  context.CancelFunc
	done sync.WaitGroup
	// binds: each object has a binding at the hub.
	binds atomic.Bool

	mu sync.Mutex
	// turns counts for each member how often it was cut off and reached again.
	turns map[string]int
	// works are what was placed, or is to be.
	works map[workKey]*work
}

// workKey names an object at a member.
type workKey struct {
	member string
	kind   schema.GroupVersionKind
	object client.ObjectKey
}

// work is what a member was sent of an object.
type work struct {
	// sent is nil until the member has answered.
	sent *unstructured.Unstructured
	// generation is the copy's after that.
	generation int64
	// refused is why the member refused it; nil if it took it.
	refused error
	// binding is the UID of the binding under which it was placed; "" for none.
	binding types.UID
}

// New returns a Propagator of these kinds, which has not been started.
func New(hub client.Client, members map[string]client.Client, kinds ...schema.GroupVersionKind) *Propagator {
	return &Propagator{hub: hub, members: members, kinds: kinds, turns: map[string]int{}, works: map[workKey]*work{}}
}

// Start carries what is at the hub, and what comes, until Stop. Each member is served by itself.
func (p *Propagator) Start() {
	ctx, end := context.WithCancel(context.Background())
	p.end = end
	for member := range p.members {
		p.done.Go(func() { p.serve(ctx, member) })
	}
}

// Stop returns when nothing is under way any more. It may be called more than once.
func (p *Propagator) Stop() {
	if p.end != nil {
		p.end()
	}
	p.done.Wait()
}

// CutOff has a member not be reached until mend is called. What was read before that is not carried after it.
func (p *Propagator) CutOff(member string) (mend func()) {
	turn := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.turns[member]++
	}
	turn()
	return sync.OnceFunc(turn)
}

// turnsOf counts how often a member was cut off and reached again; an odd number is one that is cut off.
func (p *Propagator) turnsOf(member string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.turns[member]
}

// Applied returns why a member refused the last version of an object that it was sent; nil if it
// took that, or was sent none.
func (p *Propagator) Applied(member string, kind schema.GroupVersionKind, object client.ObjectKey) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.works[workKey{member, kind, object}]; w != nil {
		return w.refused
	}
	return nil
}

// serve carries to one member. A cluster that does not answer is asked again.
func (p *Propagator) serve(ctx context.Context, member string) {
	for {
		for _, kind := range p.kinds {
			p.carry(ctx, member, kind)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pollInterval):
		}
	}
}

// carry brings the copies of one kind at a member to what the hub has now.
func (p *Propagator) carry(ctx context.Context, member string, kind schema.GroupVersionKind) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	turns := p.turnsOf(member)
	templates, err := list(ctx, p.hub, kind, client.MatchingLabels{MemberLabel: member})
	if err != nil {
		return // what the hub does not show is not gone
	}
	bound, err := p.bind(ctx, member, kind, templates)
	if isCut := turns%2 == 1; err != nil || isCut || turns != p.turnsOf(member) {
		return
	}
	copies, err := list(ctx, p.members[member], kind)
	if err != nil {
		return
	}
	for object, template := range templates {
		key := workKey{member, kind, object}
		if !p.mayPlace(ctx, key, bound[object], copies[object]) {
			continue
		}
		p.place(ctx, key, template, copies[object], uidOf(bound[object]))
		p.report(ctx, key, bound[object], copies[object])
	}
	for _, key := range p.placed(member, kind) {
		if templates[key.object] == nil {
			p.withdraw(ctx, key, copies[key.object])
		}
	}
}

// list returns the objects of a kind by name.
func list(ctx context.Context, c client.Client, kind schema.GroupVersionKind, opts ...client.ListOption) (map[client.ObjectKey]*unstructured.Unstructured, error) {
	found := &unstructured.UnstructuredList{}
	found.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.List(ctx, found, opts...); err != nil {
		return nil, fmt.Errorf("listing %s: %w", kind.Kind, err)
	}
	objects := map[client.ObjectKey]*unstructured.Unstructured{}
	for i := range found.Items {
		objects[client.ObjectKeyFromObject(&found.Items[i])] = &found.Items[i]
	}
	return objects, nil
}

// place sends a member its version of an object, if that is new or the copy has been changed. A copy
// that is being deleted is no exception.
func (p *Propagator) place(ctx context.Context, key workKey, template, stored *unstructured.Unstructured, binding types.UID) {
	sent := CopyFor(key.member, template)
	if stored != nil && !isManaged(stored) || p.work(key).isPlaced(sent, stored) {
		return
	}
	p.intend(key, binding)
	written, err := p.send(ctx, key.member, sent, stored)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || errors.Is(err, context.Canceled) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.works[key] = &work{sent: sent, generation: written.GetGeneration(), refused: err, binding: binding}
}

// intend notes that an object is placed before the member is sent it: also a request that nobody
// waits for any more makes a copy, which goes with the object.
func (p *Propagator) intend(key workKey, binding types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.works[key] == nil {
		p.works[key] = &work{binding: binding}
	}
}

func (p *Propagator) send(ctx context.Context, member string, sent, stored *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if stored == nil {
		created := sent.DeepCopy()
		return created, p.members[member].Create(ctx, created)
	}
	next := retain(sent, stored)
	return next, p.members[member].Update(ctx, next)
}

// withdraw deletes the copy of an object that has gone at the hub, and forgets it.
func (p *Propagator) withdraw(ctx context.Context, key workKey, stored *unstructured.Unstructured) {
	if stored != nil && isManaged(stored) {
		if err := p.members[key.member].Delete(ctx, stored); client.IgnoreNotFound(err) != nil {
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.works, key)
}

// placed returns what was placed of a kind at a member.
func (p *Propagator) placed(member string, kind schema.GroupVersionKind) []workKey {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Keys(p.works)), func(key workKey) bool { return key.member != member || key.kind != kind })
}

func (p *Propagator) work(key workKey) *work {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.works[key]
}

// isAnswered reports whether the member has said what it makes of an object.
func (w *work) isAnswered() bool { return w != nil && w.sent != nil }

// isPlaced reports whether the copy is what was sent, and that is what is to be sent.
func (w *work) isPlaced(sent, stored *unstructured.Unstructured) bool {
	return w.isAnswered() && w.refused == nil && stored != nil && reflect.DeepEqual(w.sent.Object, sent.Object) &&
		w.generation == stored.GetGeneration() && has(stored.GetLabels(), sent.GetLabels()) && has(stored.GetAnnotations(), sent.GetAnnotations())
}

// has reports whether all of the second are in the first.
func has(all, some map[string]string) bool {
	for key, value := range some {
		if got, ok := all[key]; !ok || got != value {
			return false
		}
	}
	return true
}
