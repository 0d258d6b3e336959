// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
)

// DeniedError is a write that the API server refuses as things stand: of a record, an answer, or a
// prefix into its object. The cause is a quota, a policy, a webhook of others, a missing right, an
// invalid name or field, or a namespace that is being deleted.
type DeniedError struct {
	// What could not be written.
	What string
	// Words are the API server's.
	Words string
}

func (e *DeniedError) Error() string { return e.What + ": " + e.Words }

// WriteError wraps the error of a write, in a DeniedError if the API server refuses that.
func WriteError(what string, err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) && isDenied(status) {
		return &DeniedError{What: what, Words: excerpt.Of(status.Status().Message)}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// denials are the codes of refusals that stay until their cause goes.
var denials = []int32{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity,
}

// deniedByWebhook is in what the API server answers where a webhook refuses, with a code of that
// webhook's choice.
const deniedByWebhook = "denied the request"

// isDenied reports whether the API server refuses a write as things stand. It does not if the object
// has changed or exists already, which has the same code as a webhook may choose.
func isDenied(status apierrors.APIStatus) bool {
	s := status.Status()
	return slices.Contains(denials, s.Code) || s.Code == http.StatusConflict && strings.Contains(s.Message, deniedByWebhook)
}
