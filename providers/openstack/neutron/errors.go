// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/gophercloud/gophercloud/v2"
)

// Kind says what an error means for the next step. Codes alone do not: 409 is three kinds.
type Kind string

// The kinds of errors.
const (
	// Unauthorized: Keystone refuses the credentials, or Neutron a token that is seconds old (401).
	Unauthorized Kind = "Unauthorized"
	// Forbidden: a policy of the cloud refuses the call (403).
	Forbidden Kind = "Forbidden"
	// NotFound: Neutron says that the object, or one that the call names, does not exist or is another project's (404).
	NotFound Kind = "NotFound"
	// Conflict: the state of the object refuses the call (409 that is neither Quota nor NoAddress).
	Conflict Kind = "Conflict"
	// Changed: the object is not as it was seen; nothing was done (412, or found by the read before the change).
	Changed Kind = "Changed"
	// Quota: the project's quota is used up (409 OverQuota).
	Quota Kind = "Quota"
	// NoAddress: network or subnet has no free address (409 IpAddressGenerationFailure).
	NoAddress Kind = "NoAddress"
	// Invalid: the call, the credentials' endpoint or the policy must be changed first (400, refused endpoints).
	Invalid Kind = "Invalid"
	// Busy: the cloud, or the client's own limiter, wants fewer calls (413, 429).
	Busy Kind = "Busy"
	// Unavailable: no answer, or none of use; nothing was changed (5xx, connection refused, TLS).
	Unavailable Kind = "Unavailable"
	// Uncertain: a change may have been executed or still be (timeout or connection loss after it was sent, an answer cut off, 5xx but 503).
	Uncertain Kind = "Uncertain"
)

const (
	maxRetryAfter = 10 * time.Minute
	maxMessage    = 300
)

// Error is the error of every call. Its text has no secret, no token and no URL but an endpoint's scheme, host and port.
type Error struct {
	// Call is the name of the call, as the Observer gets it.
	Call string
	// Code is the HTTP status; 0 where there was no answer.
	Code int
	Kind Kind
	// RetryAfter is what the cloud asked for, at most 10 minutes; 0 where it did not.
	RetryAfter time.Duration
	// Message says what happened, in at most 300 characters.
	Message string

	// cause is the end of the caller's context, if that is why the call failed.
	cause error
	// several: more than one object matches, where one was to be found.
	several bool
}

func (e *Error) Error() string {
	if e.Code == 0 {
		return fmt.Sprintf("%s: %s: %s", e.Call, e.Kind, e.Message)
	}
	return fmt.Sprintf("%s: %s (%d): %s", e.Call, e.Kind, e.Code, e.Message)
}

// Unwrap returns the context's error, if the call failed because its context ended.
func (e *Error) Unwrap() error { return e.cause }

// KindOf returns the kind of an *Error, and "" for other errors and nil.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// IsLogIn reports whether an *Error is a log-in's, be it the first one or that of a call whose token was refused.
func IsLogIn(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Call == callLogIn
}

// IsSearch reports whether an *Error is of a call that reads floating IPs: no pool can do without.
func IsSearch(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Call == callList || e.Call == callGet)
}

// IsChange reports whether an *Error is of a call that changes something in the cloud.
func IsChange(err error) bool {
	var e *Error
	return errors.As(err, &e) && slices.Contains([]string{callCreate, callDescribe, callDelete, callTag}, e.Call)
}

// attempt is what is known of a failed call.
type attempt struct {
	call string
	// changes says that the call is to change something in the cloud.
	changes bool
	// sent says that the cloud may have seen the request.
	sent bool
	// ended is the error of the caller's context.
	ended error
}

// fault makes the *Error of a failed call. redact takes secrets out of the message.
func (a attempt) fault(err error, now time.Time, redact func(string) string) error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	e := &Error{Call: a.call, cause: a.ended}
	var login *gophercloud.ErrUnableToReauthenticate
	var answer gophercloud.ErrUnexpectedResponseCode
	switch {
	case errors.As(err, &login):
		// The call itself was answered with 401: it was not executed, whatever became of the log-in.
		return attempt{call: callLogIn, ended: a.ended}.fault(login.ErrReauth, now, redact)
	case errors.As(err, &answer):
		e.ofAnswer(answer, a.changes)
		e.RetryAfter = retryAfter(answer.ResponseHeader.Get("Retry-After"), now)
	default:
		e.ofLoss(err, a)
	}
	e.Message = shorten(redact(e.Message))
	return e
}

// ofAnswer sets kind and message by a whole answer.
func (e *Error) ofAnswer(answer gophercloud.ErrUnexpectedResponseCode, changes bool) {
	problemType, message := problem(answer.Body)
	kind := kindOf(answer.Actual, problemType)
	e.Code, e.Kind = answer.Actual, kind
	e.Message = cmp.Or(strings.Trim(problemType+": "+message, ": "), strings.ToLower(http.StatusText(e.Code)))
	switch {
	case e.Code/100 == 3:
		e.Message = "the endpoint redirects, and redirects are not followed"
	case e.Code == http.StatusNotFound && kind != NotFound:
		e.Message = "the endpoint has no such path: " + e.Message
	case changes && (e.Code/100 == 2 || e.Code/100 == 5 && e.Code != http.StatusServiceUnavailable):
		e.Kind = Uncertain
	}
}

// kindOf returns the kind of an answer to a call that changes nothing, by its code and the type that Neutron gives.
func kindOf(code int, problemType string) Kind {
	switch {
	case problemType == "OverQuota":
		return Quota
	case slices.Contains(exhausted, problemType):
		return NoAddress
	case code == http.StatusNotFound && slices.Contains(missing, problemType):
		return NotFound
	case code == http.StatusNotFound, code/100 == 5:
		// A 404 of a load balancer or of a wrong path says nothing of the object.
		return Unavailable
	}
	if kind, ok := kindOfCode[code]; ok {
		return kind
	}
	return Invalid
}

var kindOfCode = map[int]Kind{
	http.StatusUnauthorized:          Unauthorized,
	http.StatusForbidden:             Forbidden,
	http.StatusRequestTimeout:        Unavailable,
	http.StatusConflict:              Conflict,
	http.StatusPreconditionFailed:    Changed,
	http.StatusRequestEntityTooLarge: Busy,
	http.StatusTooManyRequests:       Busy,
}

var (
	// missing are the types of Neutron's errors that say of an object that it does not exist. HTTPNotFound is of a path.
	missing = []string{"FloatingIPNotFound", "TagResourceNotFound", "NetworkNotFound", "SubnetNotFound", "PortNotFound", "QuotaNotFound"}
	// exhausted are those that say that no address is left; the last is answered with 400.
	exhausted = []string{
		"IpAddressGenerationFailure", "IpAddressGenerationFailureAllSubnets", "IpAddressGenerationFailureNoMatchingSubnet",
		"ExternalIpAddressExhausted",
	}
)

// ofLoss sets kind and message where there is no whole answer.
func (e *Error) ofLoss(err error, a attempt) {
	var refused *EndpointError
	var limited limitError
	switch {
	case errors.As(err, &refused):
		e.Kind, e.Message = Invalid, refused.Error()
	case errors.As(err, &limited):
		e.Kind, e.Message = Busy, "waiting for the client's own rate limit: "+limited.Error()
	case a.changes && a.sent:
		e.Kind, e.Message = Uncertain, "no whole answer: "+lossOf(err)
	default:
		e.Kind, e.Message = Unavailable, "no whole answer: "+lossOf(err)
	}
}

// lossOf returns why there is no answer, without the URL.
func lossOf(err error) string {
	var withURL *url.Error
	if errors.As(err, &withURL) {
		err = withURL.Err
	}
	var syntax *json.SyntaxError
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "the time for the call is over"
	case errors.As(err, &syntax), errors.As(err, &wrongType):
		return "it is not the JSON of Neutron"
	}
	return err.Error()
}

// problem returns type and message of an error's body, Neutron's or Keystone's; what else stands there is not shown.
func problem(body []byte) (kind, message string) {
	var parsed struct {
		NeutronError json.RawMessage `json:"NeutronError"`
		Error        struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &parsed) != nil {
		return "", ""
	}
	var neutron struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	if json.Unmarshal(parsed.NeutronError, &neutron) == nil {
		return neutron.Type, neutron.Message
	}
	return "", parsed.Error.Message
}

// retryAfter reads a Retry-After of seconds or of a date (RFC 9110 10.2.3), from 0 to 10 minutes; what it is not counts as 0.
func retryAfter(header string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.ParseUint(header, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if date, err := http.ParseTime(header); err == nil {
		wait = date.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}

// shorten makes one printable line of at most maxMessage characters.
func shorten(message string) string {
	printable := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, message)
	if runes := []rune(printable); len(runes) > maxMessage {
		return string(runes[:maxMessage-3]) + "..."
	}
	return printable
}
