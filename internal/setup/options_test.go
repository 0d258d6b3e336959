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

func TestNoGraceIsShorterThanTwoRequests(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                                "",
		"--repair-grace=119s":             "--repair-grace: must be at least twice --apiserver-request-timeout, which is 1m0s; is 1m59s",
		"--apiserver-request-timeout=5m":  "--repair-grace: must be at least twice --apiserver-request-timeout, which is 5m0s; is 2m0s",
		"--apiserver-request-timeout=-1s": "--apiserver-request-timeout: must not be negative, is -1s",
		"--apiserver-request-timeout=5m --repair-grace=10m":  "",
		"--apiserver-request-timeout=15s --repair-grace=30s": "",
		"--apiserver-request-timeout=1ms --repair-grace=2ms": "--repair-grace: must be at least a second, is 2ms",
	} {
		var o Options
		flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
		o.AddFlags(flags)
		if err := flags.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := o.Complete(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
}

func TestFeatureGates(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		// want is the error's text; "" for none.
		want string
		on   bool
	}{
		"closed by default":          {},
		"closed":                     {args: []string{"--feature-gates=Metal3=false,OpenStack=false,Federation=false"}},
		"Metal3 open":                {args: []string{"--feature-gates=Metal3=true"}, on: true},
		"neither open nor closed":    {args: []string{"--feature-gates=Metal3=yes"}, want: "--feature-gates: Metal3=yes: must be true or false"},
		"OpenStack open":             {args: []string{"--feature-gates=OpenStack=true", "--openstack-endpoint-allow="}},
		"with endpoints":             {args: []string{"--feature-gates=OpenStack=true", "--openstack-endpoint-allow=https://a.example.com, https://b.example.com"}},
		"with a wrong endpoint":      {args: []string{"--feature-gates=OpenStack=true", "--openstack-endpoint-allow=ftp://a.example.com"}, want: "--openstack-endpoint-allow: "},
		"endpoints, and no gate":     {args: []string{"--openstack-endpoint-allow=https://a.example.com"}, want: "--openstack-endpoint-allow: needs --feature-gates=OpenStack=true"},
		"Federation open":            {args: []string{"--feature-gates=Federation=true", "--cluster-name=edge-a"}},
		"a name behind the gate":     {args: []string{"--cluster-name=edge-a"}, want: "--cluster-name: needs --feature-gates=Federation=true"},
		"a name that is no label":    {args: []string{"--feature-gates=Federation=true", "--cluster-name=-a"}, want: `--cluster-name: "-a" is no value of a label: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`},
		"unknown":                    {args: []string{"--feature-gates=metal3=true"}, want: `--feature-gates: there is no gate "metal3"`},
		"open beside an unknown one": {args: []string{"--feature-gates=Metal3=true,Bird=false"}, want: `--feature-gates: there is no gate "Bird"`, on: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o Options
			flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
			o.AddFlags(flags)
			if err := flags.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := o.Complete(); err != nil {
				got = err.Error()
			}
			isWanted := got == test.want || strings.HasSuffix(test.want, ": ") && strings.HasPrefix(got, test.want)
			if !isWanted || o.isOn(metal3Gate) != test.on {
				t.Errorf("got %q and on=%t, want %q and on=%t", got, o.isOn(metal3Gate), test.want, test.on)
			}
		})
	}
}
