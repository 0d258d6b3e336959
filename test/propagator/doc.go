// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package propagator carries objects from a hub to its members as Karmada does, for tests. It does
// what Karmada was seen to do with pools, and nothing else:
//
//   - A copy has spec, labels and annotations of the hub's object, and Karmada's marks (copy.go). It
//     has neither its status, owner references and finalizers nor its UID.
//   - A later version replaces spec, and the labels and annotations that the hub's object has. What
//     the member has added stays: finalizers, owner references, other labels and annotations, status.
//   - A copy that is deleted at the member is made again. An object of the same name without
//     Karmada's mark is left alone.
//   - An object that goes at the hub takes its copy along, and waits for nothing. One that is only
//     being deleted does not.
//   - A version that the member refuses is sent again.
//   - Each object has a binding at the hub (binding.go), from Bind on. It names the object by its UID,
//     and shows the whole status of the copy, or why the member has refused the object. The hub's
//     object is not written. A binding goes with its object, and waits for no member.
//   - A binding that goes takes the copy along, and waits for nothing. While the object is there, the
//     binding is made again, and then the copy. So it is with an object that is deleted in the
//     foreground: its binding goes first, for it is owned by the object. In a namespace that is being
//     deleted the binding goes, too, and is not made again: no later version reaches the member.
//   - What the binding shows of a member that is not reached stays as it was.
//
// Each of these is a spec of its own (propagator_test.go). make test-karmada runs the same specs with
// another Placement, a real Karmada (karmada_test.go).
//
// Copy copies once, as a person does with kubectl.
package propagator
