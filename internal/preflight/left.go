// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// Object names a claim, an answer or a pool.
type Object struct{ Kind, Namespace, Name string }

// String returns kind, namespace and name.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// compare orders objects by namespace, kind and name.
func (o Object) compare(p Object) int {
	return cmp.Or(strings.Compare(o.Namespace, p.Namespace), strings.Compare(o.Kind, p.Kind), strings.Compare(o.Name, p.Name))
}

// Remain is an object that would stay where it is while its pool, or itself without its address, moves. The zero value stands
// for nothing.
type Remain struct {
	// Pool is what the object asks or was carved from.
	Pool   ipamv1.PoolReference
	Object Object
	// Why does not name the object.
	Why string
}

// LeftClaim returns what a move would leave behind of a claim whose answer is another object: that of the pool, or nothing, if it moves or
// names none.
func LeftClaim(kind string, claim client.Object, pool ipamv1.PoolReference) Remain {
	why := cmp.Or(Owner(claim), unowned(claim, pool))
	if why == "" || pool.Name == "" {
		return Remain{}
	}
	return Remain{Pool: pool, Object: Object{kind, claim.GetNamespace(), claim.GetName()}, Why: why}
}

// LeftAnswer returns what a move would leave behind of an answer out of the pool that was made by hand and that no claim has: itself, or its
// record, which no owner takes along. The record is made anew where the answer and the pool arrive. Where the pool stays it is still needed.
func LeftAnswer(kind string, answer client.Object, pool ipamv1.PoolReference) Remain {
	why := cmp.Or(Owner(answer), unowned(answer, ipamv1.PoolReference{Namespace: answer.GetNamespace()}))
	if why == "" && pool.Namespace == "" {
		why = "it moves without its record"
	}
	if why == "" || pool.Name == "" {
		return Remain{}
	}
	return Remain{Pool: pool, Object: Object{kind, answer.GetNamespace(), answer.GetName()}, Why: why}
}

// Left returns what a move would leave behind: an IPClaim, or a pool that is carved from another one. Of any
// that moves, or that has nothing to do with a pool of Weir's, it returns the zero value.
func Left(obj client.Object) Remain {
	r := Remain{}
	switch o := obj.(type) {
	case *ipamv1.IPClaim:
		r.Object.Kind, r.Pool = ipamv1.IPClaimKind, claimedBy(o)
		r.Why = Owner(o)
	case *ipamv1.IPPool:
		r.Object.Kind, r.Pool = ipamv1.IPPoolKind, parentOf(o)
		r.Why = cmp.Or(Owner(o), elsewhere(o, r.Pool))
	}
	if r.Why == "" || r.Pool.Name == "" {
		return Remain{}
	}
	r.Object.Namespace, r.Object.Name = obj.GetNamespace(), obj.GetName()
	return r
}

// Owner says which owner keeps an object where it is; "" if none does.
func Owner(obj client.Object) string {
	for _, owner := range obj.GetOwnerReferences() {
		if !moves(owner) {
			return fmt.Sprintf("its owner %s %s is not moved", owner.Kind, owner.Name)
		}
	}
	return ""
}

// Moves says whether clusterctl moves an object of a namespace, none of whose CRD's labels says so: an owner takes it along, or a label of its
// own.
func Moves(obj client.Object) bool {
	return Owner(obj) == "" && unowned(obj, ipamv1.PoolReference{Namespace: obj.GetNamespace()}) == ""
}

// Secret returns why clusterctl leaves the Secret behind that a pool of its namespace names; "" if it moves.
func Secret(secret client.Object) string {
	why := Owner(secret)
	if why == "" && !Moves(secret) {
		why = "it lacks the label " + clusterctlv1.ClusterctlMoveLabel
	}
	return why
}

// moves says whether clusterctl moves the owner, as far as its kind tells.
func moves(owner metav1.OwnerReference) bool {
	kind := kinds.OfOwner(owner)
	isWeirs := kind == kinds.IPPool || kind == kinds.IPClaim || kind == kinds.GlobalIPPool
	return isWeirs || kind.Group == kinds.Cluster.Group || strings.HasSuffix(kind.Group, "."+kinds.Cluster.Group)
}

// takesAlong says whether clusterctl moves what the owner owns. A GlobalIPPool it only copies, by itself.
func takesAlong(owner metav1.OwnerReference) bool {
	return moves(owner) && kinds.OfOwner(owner) != kinds.GlobalIPPool
}

// unowned says why a claim of Cluster API stays that no owner keeps. Where it is only labelled to move, its IPAddress and its
// record need another owner that takes them along: an IPPool does, a GlobalIPPool does not.
func unowned(claim client.Object, pool ipamv1.PoolReference) string {
	for _, owner := range claim.GetOwnerReferences() {
		if takesAlong(owner) {
			return ""
		}
	}
	_, alone := claim.GetLabels()[clusterctlv1.ClusterctlMoveLabel]
	_, whole := claim.GetLabels()[clusterctlv1.ClusterctlMoveHierarchyLabel]
	switch {
	case whole, alone && pool.Namespace != "":
		return ""
	case alone:
		return "it moves without its address: it needs the label " + clusterctlv1.ClusterctlMoveHierarchyLabel
	default:
		return "it has no owner that moves"
	}
}

// elsewhere says that a carved pool stays because its parent is another namespace's. A GlobalIPPool stays, too.
func elsewhere(child *ipamv1.IPPool, parent ipamv1.PoolReference) string {
	if parent.Namespace != "" && parent.Namespace != child.Namespace {
		return "it is of another namespace"
	}
	return ""
}

func claimedBy(claim *ipamv1.IPClaim) ipamv1.PoolReference {
	if claim.Spec.PoolRef == nil {
		return ipamv1.PoolReference{}
	}
	return poolNamed(kinds.Weir(claim.Spec.PoolRef.Kind), claim.Namespace, claim.Spec.PoolRef.Name)
}

func poolNamed(kind schema.GroupKind, namespace, name string) ipamv1.PoolReference {
	if kind == kinds.GlobalIPPool {
		namespace = ""
	}
	return kinds.Pool(kind, namespace, name)
}

// parentOf returns the pool that a block was carved from. One that has no block yet has nothing of it.
func parentOf(child *ipamv1.IPPool) ipamv1.PoolReference {
	if child.Spec.CIDR == "" {
		return ipamv1.PoolReference{}
	}
	return poolspec.Parent(&child.Spec, child.PoolReference())
}
