// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
)

func TestAManagerDoesNotStartThatCannotTellWhoMayCallItsWebhooks(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.crt")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"--webhook-client-ca-file: open ":    {"--webhook-client-ca-file=" + empty + ".missing"},
		"--webhook-client-ca-file: missing ": {"--webhook-client-ca-file=" + empty, "--webhook-client-name=api"},
		"--webhook-client-name: needs ":      {"--webhook-client-name=api"},
	} {
		var o Options
		flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
		o.AddFlags(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		if err := Run(t.Context(), &rest.Config{Host: "https://127.0.0.1:1"}, o); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
