package main

import (
	"maps"
	"net"
	"strconv"
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
)

// Everything that tunes the server stands in this file.

const (
	// retention is how long a closed run, and with it its workflow ID, is kept. A week
	// outlasts a weekend and most redeliveries; the CLI's development server has 24 h.
	retention = 7 * 24 * time.Hour
	// historyShards is fixed when a database is made. Four use both SQLite and a small
	// machine well; more bring nothing.
	historyShards = 4

	clusterName = "active"
	clusterID   = "0c1e4b1e-7d7a-4c53-9c0e-6f3f8a3b6d10"
	storeName   = "sqlite"
	archivalOff = "disabled"
)

// dynamicConfig is the server's dynamic configuration, overridden by the command line.
func dynamicConfig(overrides map[string]any) dynamicconfig.StaticClient {
	values := dynamicconfig.StaticClient{
		// One partition per task queue: no forwarding between partitions on one node, so
		// tasks meet their poller at once. Both must be equal.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,
		// A search attribute is usable in all services as soon as it was added, for about a
		// tenth more CPU per workflow.
		dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,
		// The UI and tests list workflows more often than the default 10 per second.
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 100,
		// Fewer cached runs than a production node: the default is 128,000.
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 8192,
		// No calls to the outside.
		dynamicconfig.EnableServerVersionCheck.Key(): false,
	}
	overridden := make(dynamicconfig.StaticClient, len(overrides))
	for key, value := range overrides {
		overridden[dynamicconfig.MakeKey(key)] = value
	}
	maps.Copy(values, overridden)
	return values
}

// sqlConfig is the persistence of both histories and visibility. dbFilename is empty for
// a database in memory. Attributes that SQLite's URI does not know become pragmas.
func sqlConfig(dbFilename string) *config.SQL {
	if dbFilename == "" {
		return &config.SQL{
			PluginName:        sqlite.PluginName,
			DatabaseName:      "temporal-dev",
			ConnectAttributes: map[string]string{"mode": "memory", "cache": "shared"},
		}
	}
	return &config.SQL{
		PluginName:   sqlite.PluginName,
		DatabaseName: sqlitePath(dbFilename),
		ConnectAttributes: map[string]string{
			"mode":         "rw",
			"journal_mode": "wal",
			// 2 = full: a commit survives a power loss, not only a killed process.
			"synchronous": "2",
			// Somebody may look into the file with another program.
			"busy_timeout": "10000",
		},
		// SQLite has one writer; more connections only wait for each other.
		MaxConns: 1,
	}
}

// serverConfig is the static configuration of all four services in this process.
func serverConfig(ip string, p ports, store *config.SQL) *config.Config {
	frontend := address(ip, p.Frontend)
	return &config.Config{
		Global: config.Global{
			Membership: config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: ip},
		},
		Persistence: config.Persistence{
			DefaultStore:     storeName,
			VisibilityStore:  storeName,
			NumHistoryShards: historyShards,
			DataStores:       map[string]config.DataStore{storeName: {SQL: store}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend, ClusterID: clusterID},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services: map[string]config.Service{
			string(primitives.FrontendService): service(ip, p.Frontend),
			string(primitives.HistoryService):  service(ip, p.History),
			string(primitives.MatchingService): service(ip, p.Matching),
			string(primitives.WorkerService):   service(ip, p.Worker),
		},
		PublicClient: config.PublicClient{HostPort: frontend},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: archivalOff},
			Visibility: config.VisibilityArchival{State: archivalOff},
		},
		NamespaceDefaults: config.NamespaceDefaults{
			Archival: config.ArchivalNamespaceDefaults{
				History:    config.HistoryArchivalNamespaceDefaults{State: archivalOff},
				Visibility: config.VisibilityArchivalNamespaceDefaults{State: archivalOff},
			},
		},
	}
}

// staticHosts names the one address of each service, so no membership protocol runs.
func staticHosts(ip string, p ports) map[primitives.ServiceName]static.Hosts {
	return map[primitives.ServiceName]static.Hosts{
		primitives.FrontendService: static.SingleLocalHost(address(ip, p.Frontend)),
		primitives.HistoryService:  static.SingleLocalHost(address(ip, p.History)),
		primitives.MatchingService: static.SingleLocalHost(address(ip, p.Matching)),
		primitives.WorkerService:   static.SingleLocalHost(address(ip, p.Worker)),
	}
}

func service(ip string, port int) config.Service {
	return config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: ip}}
}

func address(ip string, port int) string {
	return net.JoinHostPort(ip, strconv.Itoa(port))
}
