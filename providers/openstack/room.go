// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"sync"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// answers are what clouds have said last of their room, by the key of the pool. The zero value is
// empty. They are for people: nothing is decided by them.
type answers struct {
	mu   sync.Mutex
	last map[string]external.Answer
}

// LastAnswer implements external.Provider.
func (p *Provider) LastAnswer(pool external.Pool) (external.Answer, bool) {
	p.answers.mu.Lock()
	defer p.answers.mu.Unlock()
	last, ok := p.answers.last[pool.Key]
	return last, ok
}

func (p *Provider) note(pool external.Pool, shortage external.Shortage) {
	p.answers.mu.Lock()
	defer p.answers.mu.Unlock()
	if p.answers.last == nil {
		p.answers.last = map[string]external.Answer{}
	}
	p.answers.last[pool.Key] = external.Answer{Shortage: shortage, At: p.options.Clock.Now()}
}

// noteCreation keeps what acquiring a floating IP says of the cloud's room, if it says anything. One
// that was there already says that there is no lack.
func (p *Provider) noteCreation(pool external.Pool, err error) {
	switch kind := neutron.KindOf(err); {
	case err == nil:
		p.note(pool, "")
	case kind == neutron.Quota:
		p.note(pool, external.QuotaUsedUp)
	case kind == neutron.NoAddress:
		p.note(pool, external.NetworkFull)
	}
}
