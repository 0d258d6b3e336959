// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
)

// Union takes two clusters together, whose revisions have no common order, at one
// moment that both have: it asks for one's history before and after the other's.
// What was held before and after, by the same write, was held at that moment of
// the other, too. It returns what must not be then: overlaps, and claims with two
// prefixes; and how many holdings it compared. Claims of one kind, namespace and
// name are one claim, as everything is at times while it moves.
func Union(ctx context.Context, here, there *History) (findings []string, compared int, err error) {
	moments := make([]*Moment, 3)
	for i, history := range []*History{here, there, here} {
		if moments[i], err = history.Now(ctx); err != nil {
			return nil, 0, err
		}
	}
	before, between, after := moments[0].held, moments[1].held, moments[2].held
	for uid, h := range before {
		if after[uid].since != h.since {
			continue
		}
		compared++
		findings = append(findings, against(h.Holding, between)...)
	}
	return findings, compared + len(between), nil
}

// against names what one cluster has that another's holding cannot be beside.
func against(h *fsck.Holding, others map[types.UID]tenure) (findings []string) {
	for _, other := range others {
		isSame, isKnown := isAlike(h.Claim, other.Claim), h.Space != "" && other.Space != ""
		switch {
		case isSame && h.CIDR == other.CIDR && (h.Space == other.Space || !isKnown):
		case isSame:
			findings = append(findings, fmt.Sprintf("one claim, two prefixes: here %s, there %s", h, other.Holding))
		case fsck.Contains(h, other.Holding) && !fsck.IsAround(h, other.Holding):
			findings = append(findings, fmt.Sprintf("here %s, there %s", h, other.Holding))
		}
	}
	return findings
}

// isAlike reports whether two objects are one claim in two clusters.
func isAlike(a, b *fsck.Item) bool {
	return a.Group == b.Group && a.Kind == b.Kind && a.Kind != heldKind &&
		a.Metadata.Namespace == b.Metadata.Namespace && a.Metadata.Name == b.Metadata.Name
}
