// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// TestLogsOfManagersAreRead: the one before and the present one; what cannot be shown is a gap or a failure. A tenant's pod with
// Weir's label is no manager.
func TestLogsOfManagersAreRead(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(answerLogs))
	t.Cleanup(server.Close)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, meta.RESTScopeNamespace)
	s, err := New(&rest.Config{Host: server.URL}, mapper, Scope{Fallback: "team"})
	if err != nil {
		t.Fatal(err)
	}
	var read []string
	logs, err := s.ManagerLogs(t.Context(), func(pod string, log io.Reader) error {
		text, readErr := io.ReadAll(log)
		read = append(read, pod+": "+string(text))
		return readErr
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a: a false manager true", "b: b true manager true", "b: b false manager true"}
	if diff := cmp.Diff(want, read); diff != "" || logs.Read != 3 {
		t.Errorf("read %d (-want +got):\n%s", logs.Read, diff)
	}
	if len(logs.Failed) != 1 || !strings.Contains(logs.Failed[0], "pod weir-system/lost: ") ||
		!strings.Contains(logs.Failed[0], "the node is not there") {
		t.Errorf("failed %q", logs.Failed)
	}
	gaps := s.Gaps().List()
	if len(gaps) != 1 || gaps[0].Text != "you may not get pods/log of namespace weir-system" {
		t.Errorf("gaps %v", gaps)
	}
	broken := errors.New("broken")
	if _, err = s.ManagerLogs(t.Context(), func(string, io.Reader) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a log that cannot be read: %v", err)
	}
}

// answerLogs has four managers' pods, and one of a tenant.
func answerLogs(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	code, answer := refusal(http.StatusForbidden, "Forbidden", "no")
	const managers = `{"metadata":{"namespace":"weir-system","name":"b"}},{"metadata":{"namespace":"weir-system","name":"a"}},` +
		`{"metadata":{"namespace":"weir-system","name":"lost"}},{"metadata":{"namespace":"weir-system","name":"secret"}}`
	isLabelled := query.Get("labelSelector") == managerLabels
	switch name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/weir-system/pods/"), "/log"); {
	case r.URL.Path == "/api/v1/namespaces/weir-system/pods" && isLabelled:
		code, answer = http.StatusOK, `{"items":[`+managers+`]}`
	case r.URL.Path == "/api/v1/pods" && isLabelled:
		code, answer = http.StatusOK, `{"items":[{"metadata":{"namespace":"tenant","name":"forger"}},`+managers+`]}`
	case r.URL.Path == "/api/v1/namespaces/tenant/pods/forger/log":
		code, answer = http.StatusOK, "forged"
	case name == "lost":
		code, answer = refusal(http.StatusInternalServerError, "InternalError", "the node is not there")
	case name == "a" && query.Get("previous") == "true":
		code, answer = refusal(http.StatusBadRequest, "BadRequest", `previous terminated container \"manager\" in pod \"a\" not found`)
	case name == "a" || name == "b":
		code, answer = http.StatusOK, name+" "+query.Get("previous")+" "+query.Get("container")+" "+query.Get("timestamps")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(answer))
}

func refusal(code int, reason, message string) (int, string) {
	return code, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"` + reason + `","message":"` + message + `"}`
}
