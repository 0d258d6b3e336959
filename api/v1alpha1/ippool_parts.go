// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// IPFamily is the family of a pool's addresses.
// +kubebuilder:validation:Enum=IPv4;IPv6
type IPFamily string

const (
	// IPv4Family is IPv4.
	IPv4Family IPFamily = "IPv4"
	// IPv6Family is IPv6.
	IPv6Family IPFamily = "IPv6"
)

// AllocationStrategy says how an address or prefix is chosen among the free ones.
// +kubebuilder:validation:Enum=FirstFit;BestFit;Random;LeastRecentlyUsed
type AllocationStrategy string

const (
	// FirstFitStrategy takes the lowest that is free.
	FirstFitStrategy AllocationStrategy = "FirstFit"
	// BestFitStrategy takes the lowest in the smallest free block that will do, so that larger ones stay whole. Of equally
	// small ones it takes the lowest.
	BestFitStrategy AllocationStrategy = "BestFit"
	// RandomStrategy draws any address of the pool and takes it, or the nearest free one if it cannot be had. That comes
	// close to an even choice among the free ones while few are taken.
	RandomStrategy AllocationStrategy = "Random"
	// LeastRecentlyUsedStrategy takes what has been free for longest: first what was never used, the lowest of it, then what
	// was released first. A manager knows that from when it begins to serve the pool as it is now; before, all that was free
	// counts as never used.
	LeastRecentlyUsedStrategy AllocationStrategy = "LeastRecentlyUsed"
)

// ReservedAddressesPolicy says what is done with the addresses that a network reserves for itself.
// +kubebuilder:validation:Enum=Exclude;Allocate
type ReservedAddressesPolicy string

const (
	// ReservedAddressesExclude keeps back the network and broadcast address of IPv4 networks of /30 and shorter and the
	// subnet-router anycast address (RFC 4291 section 2.6.1) of IPv6 networks of /126 and shorter. /31 (RFC 3021) and /127
	// (RFC 6164) are used whole.
	ReservedAddressesExclude ReservedAddressesPolicy = "Exclude"
	// ReservedAddressesAllocate hands them out like any other.
	ReservedAddressesAllocate ReservedAddressesPolicy = "Allocate"
)

// PoolVisibility says who may claim and carve from a pool. A namespace's project is its label ipam.weir.dev/project; without it,
// it is a project of its own. An IPPool's is its namespace's, a GlobalIPPool's its own label of that key, and without it nobody's.
// +kubebuilder:validation:Enum=Platform;Consumer;Shared
type PoolVisibility string

const (
	// PlatformVisibility: namespaces of the platform project.
	PlatformVisibility PoolVisibility = "Platform"
	// ConsumerVisibility: the pool's own project.
	ConsumerVisibility PoolVisibility = "Consumer"
	// SharedVisibility: every project, narrowed by namespaceSelector.
	SharedVisibility PoolVisibility = "Shared"
)

// PoolMode says whether a pool hands out addresses.
// +kubebuilder:validation:Enum=Serving;Draining;Closing
type PoolMode string

const (
	// ServingMode: the pool hands out addresses.
	ServingMode PoolMode = "Serving"
	// DrainingMode: the pool hands out nothing more.
	DrainingMode PoolMode = "Draining"
	// ClosingMode: the pool was deleted at the hub, and the member cluster that has its block is to release
	// it. Only the hub's controller sets it, on a delegated pool that is being deleted. Nobody takes it back.
	ClosingMode PoolMode = "Closing"
)

// FloatingIPReclaimPolicy says what happens to a floating IP that Weir created when it is no longer claimed.
// +kubebuilder:validation:Enum=Delete;Retain
type FloatingIPReclaimPolicy string

const (
	// DeleteFloatingIPs deletes it. The default.
	DeleteFloatingIPs FloatingIPReclaimPolicy = "Delete"
	// RetainFloatingIPs keeps it for other claims of the pool.
	RetainFloatingIPs FloatingIPReclaimPolicy = "Retain"
)

// AddressEntry is a CIDR ("192.0.2.0/28"), an inclusive range ("192.0.2.16-192.0.2.31") or a single address, in canonical
// form (RFC 5952, masked).
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=91
type AddressEntry string

// DNSServer is the address of a DNS server, in canonical form.
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=39
// +kubebuilder:validation:XValidation:rule="isIP(self) && ip.isCanonical(self)",message="must be an IP address in canonical form"
type DNSServer string

// ParentReference names the pool that a pool's block is carved from.
type ParentReference struct {
	// kind of the parent pool.
	// +required
	// +kubebuilder:validation:Enum=IPPool;GlobalIPPool
	Kind string `json:"kind,omitempty"`

	// name of the parent pool.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// namespace of the parent, for kind IPPool only. Absent means the pool's own namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// Network is what comes with a single address.
type Network struct {
	// prefixLength of the network that the address is in, in bits. Absent means that of the pool's block, or of the entry of
	// addresses if that is a block. Ranges and single addresses have host length then, and with a gateway need prefixLength.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	PrefixLength *int32 `json:"prefixLength,omitempty"`

	// gateway of the network. It is never handed out. Absent means none.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=39
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip.isCanonical(self)",message="must be an IP address in canonical form"
	Gateway string `json:"gateway,omitempty"`

	// dnsServers of the network, in the order to try them; either family.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	DNSServers []DNSServer `json:"dnsServers,omitempty"`
}

// Subnet overrides the network of the addresses inside its cidr.
type Subnet struct {
	// cidr of the addresses that the override is for.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && string(cidr(self).masked()) == self",message="must be a prefix in canonical form"
	CIDR string `json:"cidr,omitempty"`

	// network of these addresses. A prefixLength that is absent is that of cidr, a gateway that is absent means none, and
	// dnsServers that are absent are the pool's.
	// +required
	Network Network `json:"network,omitempty,omitzero"`
}

// AllocationPolicy says how addresses are chosen and what may be asked for.
type AllocationPolicy struct {
	// strategy for choosing among free addresses. It may be changed. Absent means FirstFit, which takes the lowest.
	//
	// BestFit takes the lowest in the smallest free block that will do, so that larger ones stay whole.
	//
	// Random draws any address of the pool, each with the same chance, and takes it, or the nearest free one if it cannot
	// be had. That comes close to an even choice while few are taken. Where the pool is of several blocks, one of those with
	// room is drawn first, with a chance that grows with its size, up to 2^40 addresses. It keeps managers that write at the
	// same time out of each other's way; it does not make addresses hard to guess.
	//
	// LeastRecentlyUsed takes what has been free for longest: first what was never used, the lowest of it, then what was
	// released first. Each manager has that from its own watch, and keeps it in memory for the last 65,536 releases of a pool.
	// Nothing of it survives a restart, a change of leader or a change of the pool's spec: all that is free then counts as
	// never used. If the 64 oldest releases have no room for what is asked, the lowest that is free is taken.
	// +optional
	Strategy AllocationStrategy `json:"strategy,omitempty"`

	// minPrefixLength is the shortest prefix length (the largest block) that may be asked for, in bits.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	MinPrefixLength *int32 `json:"minPrefixLength,omitempty"`

	// maxPrefixLength is the longest prefix length (the smallest block) that may be asked for, in bits.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	MaxPrefixLength *int32 `json:"maxPrefixLength,omitempty"`

	// defaultPrefixLength is what a claim gets that does not say, in bits. Absent means host length.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	DefaultPrefixLength *int32 `json:"defaultPrefixLength,omitempty"`

	// reservedAddresses says what is done with network, broadcast and subnet-router anycast addresses. Absent means
	// Exclude.
	// +optional
	ReservedAddresses ReservedAddressesPolicy `json:"reservedAddresses,omitempty"`

	// cooldownSeconds is how long a released address is not handed out again, in seconds. Absent means 0. The claim's
	// deletion does not wait for it; the deletion of the pool does, unless it is set to 0 then. A change counts for what
	// cools down already. Measured with the clocks of the managers, so as exact as those agree, and never rounded down.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	CooldownSeconds *int32 `json:"cooldownSeconds,omitempty"`
}

// PreAllocation keeps an address for the claim of a name, before that exists and between its lives. Nobody else gets it.
type PreAllocation struct {
	// claimName is the name of the claim, or of an IPAddressClaim that CAPM3 makes for a host: <BareMetalHost>-<pool>, whatever
	// CAPM3 names it. At most one address is kept for a claim; its own name comes first.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	ClaimName string `json:"claimName,omitempty"`

	// namespace of the claim; required on a GlobalIPPool. On an IPPool absent means the pool's own namespace, which is the
	// only one allowed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// kind of the claim: IPAddressClaim (Cluster API's) or IPClaim. Absent means IPAddressClaim.
	// +optional
	// +kubebuilder:validation:Enum=IPAddressClaim;IPClaim
	Kind string `json:"kind,omitempty"`

	// address that is kept, in canonical form: one that the pool can hand out. In a pool whose claims get blocks it is the
	// first address of such a block, and the block is kept. Each address may be named once.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=39
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip.isCanonical(self)",message="must be an IP address in canonical form"
	Address string `json:"address,omitempty"`
}

// Expansion has the hub create siblings of a delegated pool that runs low: further pools, named after
// it with "-2" and so on, that are carved from the same parent, delegated to the same member, and owned
// by it. They have its spec without cidr, preAllocations, mode and expansion.
type Expansion struct {
	// thresholdPercent of the addresses of the pool and its siblings. A sibling is created while less
	// than that is available, as the member has reported last. A pool that was not reported counts as
	// wholly available.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	ThresholdPercent int32 `json:"thresholdPercent,omitempty"`

	// prefixLength of the sibling's block, in bits.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	PrefixLength int32 `json:"prefixLength,omitempty"`

	// maxPools is the greatest number of siblings. Weir deletes none where it is lowered.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxPools int32 `json:"maxPools,omitempty"`

	// labels of the siblings, for instance those that claims select pools by. Labels of ipam.weir.dev,
	// karmada.io, argoproj.io, fluxcd.io and app.kubernetes.io are refused: they are set by what manages
	// a pool.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`
}

// OpenStackIdentityReference names the credentials for OpenStack.
type OpenStackIdentityReference struct {
	// name of the Secret with clouds.yaml and, optionally, cacert. It is in the pool's namespace,
	// that of a GlobalIPPool in the manager's.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// cloudName is the entry of clouds.yaml.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	CloudName string `json:"cloudName,omitempty"`

	// region of the cloud. Absent means region_name of clouds.yaml; without both, the cloud must have
	// one region.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Region string `json:"region,omitempty"`
}

// FloatingNetwork chooses the external network. At least one field is set; all that are set must
// match. The network that was found first stays the pool's.
type FloatingNetwork struct {
	// id of the network, as Neutron writes it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id,omitempty"`

	// name of the network.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name,omitempty"`

	// tags that the network carries, all of them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=255
	Tags []string `json:"tags,omitempty"`
}

// FloatingSubnet chooses a subnet of the external network.
type FloatingSubnet struct {
	// id of the subnet.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id,omitempty"`

	// name of the subnet.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name,omitempty"`
}

// OpenStackSource makes a pool hand out floating IPs from Neutron.
//
// +kubebuilder:validation:XValidation:rule="has(self.subnet) == has(oldSelf.subnet) && (!has(self.subnet) || self.subnet == oldSelf.subnet)",message="subnet is immutable"
type OpenStackSource struct {
	// identityRef names the credentials. They may change, for the same project and region.
	// +required
	IdentityRef OpenStackIdentityReference `json:"identityRef,omitempty,omitzero"`

	// floatingNetwork is the external network. Immutable.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="floatingNetwork is immutable"
	FloatingNetwork FloatingNetwork `json:"floatingNetwork,omitempty,omitzero"`

	// subnet of the external network that new floating IPs are of. Absent means any. Immutable. Most
	// projects see no subnets of it, and so cannot use a name. The id works nevertheless.
	// +optional
	Subnet *FloatingSubnet `json:"subnet,omitempty"`

	// preAllocatedFloatingIPs are existing floating IPs that the pool hands out first and never
	// deletes. Their description must be empty: Weir writes it, and empties it again.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MinLength=7
	// +kubebuilder:validation:items:MaxLength=15
	PreAllocatedFloatingIPs []string `json:"preAllocatedFloatingIPs,omitempty"`

	// maxIPs is how many floating IPs the pool hands out at most, whether Weir created them or not.
	// Absent means what the quota allows. Several managers that work at once may exceed it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	MaxIPs *int32 `json:"maxIPs,omitempty"`

	// reclaimPolicy for floating IPs that Weir created, when their claim goes. Delete deletes them,
	// Retain keeps them for other claims of the pool. Absent means Delete.
	// +optional
	ReclaimPolicy FloatingIPReclaimPolicy `json:"reclaimPolicy,omitempty"`

	// tags for floating IPs that Weir creates.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=60
	Tags []string `json:"tags,omitempty"`
}
