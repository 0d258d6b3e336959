// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"
	"sigs.k8s.io/cluster-api/util/flags"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/doors"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/webhookserver"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// defaultPlatformProject is the project that the manager's own namespace belongs to, unless another is named.
const defaultPlatformProject = "platform"

// defaultRequestTimeout is that of API servers.
const defaultRequestTimeout = time.Minute

// Feature gates. All are closed by default.
const (
	// metal3Gate opens the front door of ipam.metal3.io.
	metal3Gate = "Metal3"
	// inClusterGate opens the front door of the in-cluster provider's pools.
	inClusterGate = "InCluster"
	// openStackGate serves pools of floating IPs.
	openStackGate = "OpenStack"
	// federationGate serves delegated pools, at hub and member.
	federationGate = "Federation"
)

// Options are the manager's flags.
type Options struct {
	Manager flags.ManagerOptions

	LeaderElection bool
	Namespace      string
	WatchFilter    string
	SyncPeriod     time.Duration
	Concurrency    int
	KubeAPIQPS     float32
	KubeAPIBurst   int

	HealthAddress  string
	WebhookPort    int
	WebhookHost    string
	WebhookCertDir string
	// WebhookCertSecret is the Secret of the own namespace that the webhooks' certificate is made in; see certificate.
	WebhookCertSecret string
	// WebhookClientCAFile and WebhookClientName say who may call the webhooks; see webhookserver.Clients. Without them everybody may,
	// and nothing of others is named in what the webhooks answer.
	WebhookClientCAFile string
	WebhookClientName   string

	ClusterName     string
	PlatformProject string
	RepairGrace     time.Duration
	// RequestTimeout is how long a request to the API server may last; 0 means its own default.
	RequestTimeout time.Duration
	EndpointAllow  []string
	FeatureGates   map[string]string

	// Doors are further front doors.
	Doors []doors.Door

	// endpoints are what EndpointAllow says.
	endpoints neutron.EndpointPolicy

	// OwnNamespace is the namespace that the manager runs in: of its lease, and of the records of GlobalIPPools' blocks.
	OwnNamespace string
}

// AddFlags declares the flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	flags.AddManagerOptions(fs, &o.Manager)
	fs.BoolVar(&o.LeaderElection, "leader-elect", false,
		"Elect a leader that alone answers claims. It saves work; it is not needed for safety: any number of managers may write.")
	fs.StringVar(&o.Namespace, "namespace", "",
		"Serve the pools and claims of this namespace only, and GlobalIPPools. Empty serves all namespaces.")
	fs.StringVar(&o.WatchFilter, "watch-filter", "",
		"Serve only pools and claims with this value of the label cluster.x-k8s.io/watch-filter. Empty serves all.")
	fs.DurationVar(&o.SyncPeriod, "sync-period", 10*time.Minute, "The least time after which every object is looked at again.")
	fs.IntVar(&o.Concurrency, "concurrency", 32, "How many claims, and how many pools of each kind, are worked on at once.")
	fs.Float32Var(&o.KubeAPIQPS, "kube-api-qps", -1,
		"Requests a second to the API server. Negative means unlimited: the server's own priority and fairness decides.")
	fs.IntVar(&o.KubeAPIBurst, "kube-api-burst", 100, "Burst of requests to the API server, where --kube-api-qps limits them.")
	fs.StringVar(&o.HealthAddress, "health-probe-bind-address", ":9440", "The address that /healthz and /readyz are served on.")
	fs.IntVar(&o.WebhookPort, "webhook-port", 9443, "The port that the webhooks are served on.")
	fs.StringVar(&o.WebhookHost, "webhook-host", "", "The address that the webhooks are served on. Empty means all.")
	fs.StringVar(&o.WebhookCertDir, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs/",
		"The directory with tls.crt and tls.key of the webhook server.")
	fs.StringVar(&o.WebhookCertSecret, "webhook-cert-secret", "",
		"A Secret of the manager's own namespace, mounted at --webhook-cert-dir, that the manager makes and replaces the webhooks' certificate in. Empty leaves that to others, such as cert-manager.")
	fs.StringVar(&o.WebhookClientCAFile, "webhook-client-ca-file", "",
		"A PEM file with the CA of the API servers' client certificates: no other client may call the webhooks. Empty allows every client that reaches the port.")
	fs.StringVar(&o.WebhookClientName, "webhook-client-name", "",
		"The common name, or a DNS name, of the client certificate that may call the webhooks. Empty allows every one of --webhook-client-ca-file.")
	fs.StringVar(&o.ClusterName, "cluster-name", "", "The name that pools are delegated to this cluster by (spec.delegateTo). Empty means that none can be. Needs the feature gate Federation.")
	fs.StringVar(&o.PlatformProject, "platform-project", defaultPlatformProject, "The name of the platform project, which the manager's own namespace belongs to.")
	fs.DurationVar(&o.RepairGrace, "repair-grace", ledger.DefaultGrace,
		"How long a record may wait for its IPClaim or child pool to be stored. At least twice --apiserver-request-timeout.")
	fs.DurationVar(&o.RequestTimeout, "apiserver-request-timeout", defaultRequestTimeout,
		"The API servers' --request-timeout: for so long an object may be on its way from Weir's webhooks to storage.")
	fs.StringSliceVar(&o.EndpointAllow, "openstack-endpoint-allow", nil, "Endpoints of OpenStack clouds that may be called: https://keystone.example.com, https://*.cloud.example.com:5000 or an address. Empty allows every https endpoint that is not loopback or link-local.")
	fs.StringToStringVar(&o.FeatureGates, "feature-gates", nil,
		"Metal3=true serves the pools and claims of ipam.metal3.io, once they are installed. InCluster=true serves the in-cluster provider's pools. "+
			"OpenStack=true serves pools of floating IPs. Federation=true serves delegated pools, at hub and member alike. The default is false.")
}

// Complete fills in what comes from the environment, and refuses what cannot be served.
func (o *Options) Complete() error {
	if o.OwnNamespace == "" {
		o.OwnNamespace = os.Getenv("POD_NAMESPACE")
	}
	if o.OwnNamespace == "" {
		o.OwnNamespace = "weir-system"
	}
	return errors.Join(o.checkClusterName(), o.checkFeatureGates(), o.parseEndpoints(), o.checkBounds())
}

// parseEndpoints reads which endpoints of clouds may be called.
func (o *Options) parseEndpoints() error {
	switch {
	case len(o.EndpointAllow) == 0:
		return nil
	case !o.isOn(openStackGate):
		return errors.New("--openstack-endpoint-allow: needs --feature-gates=OpenStack=true")
	}
	patterns := make([]string, 0, len(o.EndpointAllow))
	for _, pattern := range o.EndpointAllow {
		if pattern = strings.TrimSpace(pattern); pattern != "" {
			patterns = append(patterns, pattern)
		}
	}
	if len(patterns) == 0 {
		return nil
	}
	policy, err := neutron.ParseEndpointPolicy(patterns)
	if err != nil {
		return fmt.Errorf("--openstack-endpoint-allow: %w", err)
	}
	o.endpoints = policy
	return nil
}

// external returns what backs pools of floating IPs; nil while the gate is closed.
func (o *Options) external(live client.Reader) external.Provider {
	if !o.isOn(openStackGate) {
		return nil
	}
	return openstack.New(openstack.Options{Live: live, Endpoints: o.endpoints, Concurrency: o.Concurrency, Clock: clock.RealClock{}})
}

// checkClusterName wants the gate of delegated pools to be open where this cluster has a name.
func (o *Options) checkClusterName() error {
	if o.ClusterName == "" {
		return nil
	}
	var errs []error
	if !o.isOn(federationGate) {
		errs = append(errs, errors.New("--cluster-name: needs --feature-gates=Federation=true"))
	}
	for _, problem := range validation.IsValidLabelValue(o.ClusterName) {
		errs = append(errs, fmt.Errorf("--cluster-name: %q is no value of a label: %s", o.ClusterName, problem))
	}
	return errors.Join(errs...)
}

// webhookClients returns who may call the webhooks; nil means everybody.
func (o *Options) webhookClients() (*webhookserver.Clients, error) {
	switch {
	case o.WebhookClientCAFile != "":
		clients, err := webhookserver.NewClients(o.WebhookClientCAFile, o.WebhookClientName)
		if err != nil {
			return nil, fmt.Errorf("--webhook-client-ca-file: %w", err)
		}
		return clients, nil
	case o.WebhookClientName != "":
		return nil, errors.New("--webhook-client-name: needs --webhook-client-ca-file, whose certificates have such names")
	}
	return nil, nil
}

func (o *Options) checkFeatureGates() error {
	var errs []error
	for gate, value := range o.FeatureGates {
		_, err := strconv.ParseBool(value)
		switch {
		case !slices.Contains([]string{metal3Gate, inClusterGate, openStackGate, federationGate}, gate):
			errs = append(errs, fmt.Errorf("--feature-gates: there is no gate %q", gate))
		case err != nil:
			errs = append(errs, fmt.Errorf("--feature-gates: %s=%s: must be true or false", gate, value))
		}
	}
	return errors.Join(errs...)
}

// extensions are the pools of other APIs whose gates are open.
func (o *Options) extensions() []doors.Extension {
	var open []doors.Extension
	if o.isOn(metal3Gate) {
		open = append(open, doors.Metal3())
	}
	if o.isOn(inClusterGate) {
		open = append(open, doors.InCluster())
	}
	return open
}

// serves tells the pools that Weir serves from those of other providers.
func (o *Options) serves() clusterapi.Serves { return doors.Serves(o.extensions()...) }

// isOn says whether a gate was opened.
func (o *Options) isOn(gate string) bool {
	on, err := strconv.ParseBool(o.FeatureGates[gate])
	return on && err == nil
}

// checkGrace refuses a grace in which an object may still be stored whose record would be deleted then: its prefix would be handed out twice.
// Twice the timeout leaves room for a write that the API server has given up and etcd has not, and for clocks that run unevenly.
func (o *Options) checkGrace() error {
	timeout := cmp.Or(o.RequestTimeout, defaultRequestTimeout)
	switch {
	case timeout < 0:
		return fmt.Errorf("--apiserver-request-timeout: must not be negative, is %s", timeout)
	case o.RepairGrace < time.Second:
		return fmt.Errorf("--repair-grace: must be at least a second, is %s", o.RepairGrace)
	case o.RepairGrace < 2*timeout:
		return fmt.Errorf("--repair-grace: must be at least twice --apiserver-request-timeout, which is %s; is %s", timeout, o.RepairGrace)
	}
	return nil
}

func (o *Options) checkBounds() error {
	var errs []error
	if o.Concurrency < 1 {
		errs = append(errs, fmt.Errorf("--concurrency: must be at least 1, is %d", o.Concurrency))
	}
	errs = append(errs, o.checkGrace())
	if o.KubeAPIQPS == 0 {
		errs = append(errs, errors.New("--kube-api-qps: must not be zero; a negative number is no limit"))
	}
	if o.SyncPeriod < 0 {
		errs = append(errs, fmt.Errorf("--sync-period: must not be negative, is %s", o.SyncPeriod))
	}
	if o.Namespace != "" {
		for _, problem := range validation.IsDNS1123Label(o.Namespace) {
			errs = append(errs, fmt.Errorf("--namespace: %q is no name of a namespace: %s", o.Namespace, problem))
		}
	}
	for _, problem := range validation.IsValidLabelValue(o.WatchFilter) {
		errs = append(errs, fmt.Errorf("--watch-filter: %q is no value of a label: %s", o.WatchFilter, problem))
	}
	if o.PlatformProject == "" {
		errs = append(errs, errors.New("--platform-project: must not be empty"))
	}
	for _, problem := range validation.IsValidLabelValue(o.PlatformProject) {
		errs = append(errs, fmt.Errorf("--platform-project: %q is no value of a label: %s", o.PlatformProject, problem))
	}
	return errors.Join(errs...)
}
