// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

var ipclaims = resource{ipamv1.GroupVersion.WithResource("ipclaims"), true}

// Retained returns the records that are retained for the next IPClaim of a name, and false if the
// user may not list them.
func (s *Survey) Retained(ctx context.Context, namespace, name string) (records []Record, isAllowed bool, err error) {
	isAllowed, err = s.in(Scope{Only: namespace}).Records(ctx, "spec.claimRef.name="+name, func(r Record) {
		if r.State == ipamv1.RetainedState && r.Claim.GroupKind() == kinds.IPClaim && r.Claim.Namespace == namespace {
			records = append(records, r)
		}
	})
	return records, isAllowed, err
}

// IPClaim reads an IPClaim; nil unless it is Present.
func (s *Survey) IPClaim(ctx context.Context, namespace, name string) (*ipamv1.IPClaim, Presence, error) {
	claim := &ipamv1.IPClaim{}
	switch result, err := s.get(ctx, ipclaims, namespace, name, claim); {
	case err != nil:
		return nil, Hidden, err
	case result == listed:
		return claim, Present, nil
	case result == unserved:
		return nil, Gone, nil
	}
	return nil, Hidden, nil
}

// OnlyIPClaims returns a configuration whose clients refuse to send what would write anything but the
// create and the delete of one IPClaim.
func OnlyIPClaims(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return onlyIPClaims{next} })
	return config
}

// Releaser frees what is retained for IPClaims.
type Releaser struct{ rest rest.Interface }

// NewReleaser returns a releaser by a configuration, whose credentials are the user's.
func NewReleaser(config *rest.Config) (*Releaser, error) {
	config = OnlyIPClaims(config)
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return &Releaser{rest: client}, nil
}

// Release has an IPClaim take what a record retains, and deletes it. The pool gets the prefix back
// once a manager has seen that.
func (r *Releaser) Release(ctx context.Context, record *Record) error {
	claim := &ipamv1.IPClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: ipamv1.GroupVersion.String(), Kind: ipamv1.IPClaimKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: record.Claim.Namespace, Name: record.Claim.Name},
		Spec: ipamv1.IPClaimSpec{
			PoolRef:      &ipamv1.ClaimPoolReference{Kind: record.Pool.Kind, Name: record.Pool.Name},
			PrefixLength: ptr.To(int32(record.Prefix.Bits())), //nolint:gosec // 128 at most
			CIDR:         record.Prefix.String(), ReclaimPolicy: ipamv1.ClaimReclaimDelete,
		},
	}
	body, err := json.Marshal(claim)
	if err != nil {
		return fmt.Errorf("encoding the IPClaim: %w", err)
	}
	path := ipclaims.path(claim.Namespace)
	answer, err := send(ctx, r.rest.Post().AbsPath(path), body)
	if err != nil {
		return fmt.Errorf("creating the IPClaim: %w", err)
	}
	created := &ipamv1.IPClaim{}
	if err = json.Unmarshal(answer, created); err != nil {
		return fmt.Errorf("reading the IPClaim, which exists now: %w", err)
	}
	options, err := json.Marshal(metav1.DeleteOptions{
		TypeMeta:      metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions: &metav1.Preconditions{UID: &created.UID},
	})
	if err != nil {
		return fmt.Errorf("encoding the delete of the IPClaim, which exists now: %w", err)
	}
	if _, err = send(ctx, r.rest.Delete().AbsPath(path, claim.Name), options); err != nil {
		return fmt.Errorf("deleting the IPClaim, which exists now: %w", err)
	}
	return nil
}

// send sends an object, and returns the answer's. An error is what the API server says.
func send(ctx context.Context, request *rest.Request, object []byte) ([]byte, error) {
	request.SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").Body(object)
	answer, err := request.Do(ctx).Raw()
	var status metav1.Status
	if err != nil && json.Unmarshal(answer, &status) == nil && status.Message != "" {
		return nil, &apierrors.StatusError{ErrStatus: status}
	}
	return answer, err
}

// onlyIPClaims refuses requests that would write anything but an IPClaim.
type onlyIPClaims struct{ next http.RoundTripper }

var (
	createPath = regexp.MustCompile(`^/apis/ipam\.weir\.dev/v1alpha1/namespaces/[^/]+/ipclaims$`)
	deletePath = regexp.MustCompile(`^/apis/ipam\.weir\.dev/v1alpha1/namespaces/[^/]+/ipclaims/[^/]+$`)
)

// RoundTrip sends reads on, and the create and the delete of one IPClaim.
func (t onlyIPClaims) RoundTrip(r *http.Request) (*http.Response, error) {
	isCreate := r.Method == http.MethodPost && createPath.MatchString(r.URL.Path)
	isDelete := r.Method == http.MethodDelete && deletePath.MatchString(r.URL.Path)
	if isRead(r.Method) || isCreate || isDelete {
		return t.next.RoundTrip(r)
	}
	return nil, fmt.Errorf("%s %s would write something else than an IPClaim", r.Method, r.URL.Path)
}
