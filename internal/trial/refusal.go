// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"net/http"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Refusal is why an object would not be stored.
type Refusal struct {
	By Refuser `json:"by"`
	// Name is that of the webhook or policy.
	Name string `json:"name,omitempty"`
	// Message is the API server's.
	Message string `json:"message"`
	// Do is what helps.
	Do string `json:"do"`
}

// Refuser is what refuses an object.
type Refuser string

// What may refuse an object.
const (
	// Webhook has refused it: one of Weir's, or another.
	Webhook Refuser = "Webhook"
	// UnreachableWebhook: nothing is stored as long as it does not answer.
	UnreachableWebhook Refuser = "UnreachableWebhook"
	// Policy is a ValidatingAdmissionPolicy.
	Policy Refuser = "Policy"
	// Quota is a ResourceQuota.
	Quota Refuser = "Quota"
	// Rights are the user's.
	Rights Refuser = "Rights"
	// Namespace: it is not there, or is being deleted.
	Namespace Refuser = "Namespace"
	// Schema is that of the kind.
	Schema Refuser = "Schema"
	// APIServer is anything else of it.
	APIServer Refuser = "APIServer"
)

// refusers tell refusals apart by the API server's words, in which the first group is a name. The first that matches counts.
var refusers = []struct {
	by    Refuser
	words *regexp.Regexp
	do    string
}{
	{Webhook, regexp.MustCompile(`admission webhook "([^"]+)" denied the request`), "Correct what the message names."},
	{UnreachableWebhook, regexp.MustCompile(`failed calling webhook "([^"]+)"`), "See whether a manager runs and is ready: kubectl weir status."},
	{Policy, regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)' with binding`), "Keep to what the policy says, or ask who installed it."},
	{Quota, regexp.MustCompile(`exceeded quota: ([^,]+)`), "Delete what is not needed, or ask for a larger quota."},
	{Rights, regexp.MustCompile(`is forbidden: User "[^"]*" cannot (?:\S+) resource`), "Ask for the right that the message names."},
	{Namespace, regexp.MustCompile(`^namespaces "([^"]+)" not found|in namespace (\S+) because it is being terminated`), "Choose a namespace that is there to stay, or create it first."},
}

// webhookWords are how the API server begins what a webhook says.
var webhookWords = regexp.MustCompile(`^admission webhook "[^"]+" denied the request: `)

// refusalOf tells by an answer of the API server who refuses.
func refusalOf(answer metav1.Status) *Refusal {
	for _, r := range refusers {
		if found := r.words.FindStringSubmatch(answer.Message); found != nil {
			return &Refusal{By: r.by, Name: strings.Join(found[1:], ""), Message: webhookWords.ReplaceAllString(answer.Message, ""), Do: r.do}
		}
	}
	isOfFields := answer.Reason == metav1.StatusReasonInvalid || strings.Contains(answer.Message, "failed to create typed patch object")
	if isOfFields || answer.Code == http.StatusBadRequest {
		return &Refusal{By: Schema, Message: answer.Message, Do: "Correct the fields that the message names: kubectl explain shows them."}
	}
	return &Refusal{By: APIServer, Message: answer.Message, Do: "See what the message says."}
}
