// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pools

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// WithParent returns what a pool of another API says of itself, given what it says as a root: an annotation may name its parent. Such a pool asks for
// all addresses of its shape, which is nil where its spec cannot be served.
func WithParent(root poolspec.Pool, by poolspec.Annotations, p Object, shape func() *pooltree.Pool) poolspec.Pool {
	parent, isCarved := by.ParentOf(p.GetAnnotations())
	if !isCarved {
		return root
	}
	root.Space, root.Parent, root.ParentField, root.Arrived = "", parent, by.ParentPath().String(), hasArrived(p, shape)
	return root
}

// hasArrived reports whether a pool has had its addresses before it was created here: all that its spec says was granted. What the spec says since
// it was changed, or said without having it, is judged like anything else that is carved.
func hasArrived(p Object, shape func() *pooltree.Pool) bool {
	annotations := p.GetAnnotations()
	if annotations[ipamv1.ArrivedAnnotation] == "" || p.GetGeneration() > 1 {
		return false
	}
	asked := shape()
	return asked != nil && annotations[ipamv1.GrantedAnnotation] == GrantOf(asked.Blocks())
}

// GrantOf is what GrantedAnnotation says of these blocks, ascending: 32 hexadecimal digits.
func GrantOf(blocks []netip.Prefix) string {
	digest := sha256.New()
	for _, block := range blocks {
		fmt.Fprintln(digest, block)
	}
	return hex.EncodeToString(digest.Sum(nil)[:16])
}
