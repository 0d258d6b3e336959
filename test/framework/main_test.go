// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// roleEnv makes the test binary play another program, see TestMain.
const roleEnv = "WEIR_FRAMEWORK_TEST_ROLE"

// TestMain runs the tests or plays the program that a test starts: a "manager"
// that is always ready, or a "parent" that starts such a manager, prints its
// process ID and waits.
func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "manager":
		playManager()
	case "parent":
		playParent()
	default:
		os.Exit(m.Run())
	}
}

func playManager() {
	address, _ := strings.CutPrefix(os.Args[1], "--health-probe-bind-address=")
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: time.Second}
	fmt.Fprintln(os.Stderr, server.ListenAndServe())
	os.Exit(3)
}

func playParent() {
	manager, err := startFakeManager(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, manager.PID())
	select {}
}

func startFakeManager(dir string, args ...string) (*framework.ManagerProcess, error) {
	return framework.StartManager(framework.ManagerOptions{
		Config: &rest.Config{Host: "https://127.0.0.1:1"},
		Dir:    dir,
		Binary: os.Args[0],
		Args:   args,
		Env:    []string{roleEnv + "=manager"},
	})
}
