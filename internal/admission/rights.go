// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// asked is how many reviews one answer costs at most.
const asked = 5

// Rights says what a user may do.
type Rights interface {
	// May says whether the user may do what the attributes say. It errs if that cannot be found out.
	May(ctx context.Context, user authenticationv1.UserInfo, what authorizationv1.ResourceAttributes) (bool, error)
}

// Readers says what users may read.
type Readers interface {
	Rights
	// PluralOf returns the name of a kind's resource, and false where the API server has no such kind.
	PluralOf(kind schema.GroupKind) (string, bool)
}

// reviews asks the API server.
type reviews struct{ client client.Client }

// May implements Rights.
func (r reviews) May(ctx context.Context, user authenticationv1.UserInfo, what authorizationv1.ResourceAttributes) (bool, error) {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: &what, User: user.Username, Groups: user.Groups, UID: user.UID, Extra: extra,
	}}
	if err := r.client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("reviewing what the user may do: %w", err)
	}
	return review.Status.Allowed, nil
}

// PluralOf implements Readers.
func (r reviews) PluralOf(kind schema.GroupKind) (string, bool) {
	mapping, err := r.client.RESTMapper().RESTMapping(kind)
	if err != nil {
		return "", false
	}
	return mapping.Resource.Resource, true
}

// scope is a kind of objects in a namespace: rights are looked at for all of them together.
type scope struct {
	kind      schema.GroupKind
	namespace string
}

// audience is who one answer is for. Nothing is named but what he may get, and of the rest no address is told either.
type audience struct {
	rights Readers
	user   authenticationv1.UserInfo
	known  map[scope]bool
}

// audienceOf returns who sent the request. Where there is none, or without rights, nothing is named.
func audienceOf(ctx context.Context, rights Readers) *audience {
	a := &audience{known: map[scope]bool{}}
	if req, err := admission.RequestFromContext(ctx); err == nil {
		a.rights, a.user = rights, req.UserInfo
	}
	return a
}

// mayGet says whether objects of a scope may be named. What would take more than the allowed number of reviews may not.
func (a *audience) mayGet(ctx context.Context, s scope) bool {
	may, ok := a.known[s]
	if ok || a.rights == nil || len(a.known) == asked {
		return may
	}
	if resource, known := a.rights.PluralOf(s.kind); known {
		var err error
		may, err = a.rights.May(ctx, a.user, authorizationv1.ResourceAttributes{
			Verb: "get", Group: s.kind.Group, Resource: resource, Namespace: s.namespace,
		})
		if err != nil { // then he may not
			log.FromContext(ctx).Error(err, "Finding out what may be named")
		}
	}
	a.known[s] = may
	return may
}

// list names the first few of what is held that may be named, after a colon; "" if nothing may.
func (a *audience) list(ctx context.Context, held []ledger.Holding) string {
	var all []string
	for _, h := range held {
		if len(all) > named {
			break
		}
		if a.mayGet(ctx, scope{h.Claim.GroupKind(), h.Claim.Namespace}) {
			all = append(all, text(h.CIDR)+" for "+h.String())
		}
	}
	return someOf(all, len(held))
}

// mayGetPool says whether a pool may be named.
func (a *audience) mayGetPool(ctx context.Context, p ipamv1.PoolReference) bool {
	return a.mayGet(ctx, scope{p.GroupKind(), p.Namespace})
}

// someOf joins the first few of what may be named, after a colon, and says if there is more; "" if there is nothing to name.
func someOf(all []string, total int) string {
	if len(all) == 0 {
		return ""
	}
	shown := all[:min(len(all), named)]
	text := ": " + strings.Join(shown, ", ")
	if len(shown) < total {
		text += ", ..."
	}
	return text
}
