// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package floatingips shows by force what Weir says of floating IPs: manager processes are killed at each write to the API server and at each
// call of the cloud, three of them work at once while they are disturbed, and the cloud answers late, wrongly or not at all. What must hold is
// read from the API server and from the cloud, without Weir's code.
//
//   - crash_test.go: a manager is killed at each point of a path, and another one goes on. points_test.go: what a point is.
//   - paths_test.go: the paths, for both kinds of pool.
//   - race_test.go: three managers that are disturbed, with pools on the fake and on a real cloud, and strangers in the same projects.
//   - consumers_test.go: who makes claims, binds what they are told to ports, and deletes them.
//   - trouble_test.go: what the fake does to calls.
//   - register_test.go: what has ever been seen of each claim.
//   - look_test.go: what holds at every moment of a race. rest_test.go: what holds at rest, and what is tolerated there.
//   - changes_test.go: what holds of each change and each call of the fake.
//   - secrets_test.go: that nobody tells a password or a token.
//   - worlds_test.go, clouds_test.go: namespaces with pools and claims, and the clouds that these pools take floating IPs from.
package floatingips

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const (
	// patience is how long what must happen may take: only what never happens fails.
	patience = "5m"
	// loopback allows for the endpoints of all clouds of the suite.
	loopback = "http://127.0.0.1"
)

var (
	site *framework.Site
	// k reads from and writes to the API server, with no cache.
	k client.Client
	// timeout ends a spec that does not get there.
	timeout = size.Of[time.Duration](20, 40, 12*60) * time.Minute
	// managerArgs open the gate.
	managerArgs = []string{"--feature-gates=OpenStack=true", "--openstack-endpoint-allow=" + loopback}
)

func TestFloatingIPs(t *testing.T) {
	RegisterFailHandler(Fail)
	suite, reporter := GinkgoConfiguration()
	suite.Timeout = 3 * timeout // Ginkgo's own is an hour
	RunSpecs(t, "Floating IPs", suite, reporter)
}

// The real cloud has time to start while the first of them run.
var _ = Describe("With pools of floating IPs,", func() {
	crashSpecs()
	raceSpecs()
})

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(klog.Background())
	realCloud.start()
	// Without a watch cache watches come straight from etcd, so that a compaction tells at once.
	site = suite.StartSite(ctx, framework.SiteOptions{
		Options: framework.Options{ControllerManager: true, APIServerArgs: []string{"--watch-cache=false"}},
		Install: []framework.Step{framework.InstallWeirCRDs, framework.InstallCAPICRDs},
	})
	k = client.WithFieldOwner(client.WithFieldValidation(site.Client(), metav1.FieldValidationStrict), "spec")
}, NodeTimeout(5*time.Minute))

var _ = AfterEach(func(ctx SpecContext) {
	suite.Evidence(site)
	Expect(site.KillManagers()).To(Succeed())
	expectNoSecret(ctx)
}, NodeTimeout(5*time.Minute))

// realCloud starts while the specs on the fake run.
var realCloud starting

// starting is a cloud that is there, or has failed, when done is closed.
type starting struct {
	done  chan struct{}
	cloud *openstack.Cloud
	err   error
}

// start begins to start a cloud, which ends with the suite.
func (s *starting) start() {
	s.done = make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(s.done)
		s.cloud, s.err = openstack.Start(ctx)
	}()
	DeferCleanup(func() error {
		cancel()
		<-s.done
		if s.cloud == nil {
			return nil
		}
		return s.cloud.Stop()
	})
}

// wait returns the cloud once it is there.
func (s *starting) wait() *openstack.Cloud {
	GinkgoHelper()
	Eventually(s.done, patience).Should(BeClosed())
	Expect(s.err).NotTo(HaveOccurred())
	return s.cloud
}
