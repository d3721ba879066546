"""ASTRA-sim Service's messages, versions 1.1.0 to 1.4.0.

`name:type` by number; `=7` before a name sets the number, `*` means repeated, names in braces are
an enum from 1 (0: unspecified).

Trade-off: our table, because the service's .proto is unpublished.

Source: github.com/astra-sim/astra-sim-service, models/schema; github.com/Keysight/infragraph.
"""

from __future__ import annotations

from typing import Any

from yantra.service import wire
from yantra.service.wire import Field

SERVICE = "astra.Openapi"
API_VERSION = "1.1.0"

_TIER = (
    "=2downlink_speed_gbps:int32 radix_up:int32 radix_down:int32 queue_up:int32 queue_down:int32 "
    "oversubscribed:int32 bundle:int32 switch_latency_ns:int32 downlink_latency_ns:int32"
)
_SCHEME = "scheme:{one2one,many2many,ring} link:string"

_TABLE = {
    # Answers
    "Error": "code:int32 kind:{validation,internal} errors:string*",
    "ServerResponse": "message:string warnings:string*",
    "Version": "api_spec_version:string sdk_version:string app_version:string",
    "ControlStatus": "status:{running,completed,failed,terminated,inactive}",
    # Calls
    "Data": "chunk_size:uint64 datum:bytes",
    "Empty": "",
    "UploadConfigRequest": "request_bytes:bytes",
    "UploadConfigResponse": "server_response:ServerResponse",
    "SetConfigRequest": "config:Config",
    "SetConfigResponse": "server_response:ServerResponse",
    "GetConfigResponse": "response_bytes:bytes",
    "GetStatusResponse": "control_status:ControlStatus",
    "SetControlActionRequest": "control:Control",
    "SetControlActionResponse": "server_response:ServerResponse",
    "GetResultRequest": "result:Result",
    "GetResultResponse": "response_bytes:bytes",
    "GetVersionResponse": "version:Version",
    "Control": "choice:{start,stop} start:ControlStart",
    "ControlStart": "backend:{analytical_congestion_aware,analytical_congestion_unaware,ns3,htsim,"
    "custom=100}",
    "Result": "choice:{metadata,filename} filename:string",
    # The configuration
    "Config": "common_config:Common network_backend:NetworkBackend infragraph:Infragraph",
    "Common": "workload:string system:System communicator_group:CommunicatorGroup* "
    "remote_memory:RemoteMemory logging:Logging cmd_parameters:CommandArguments",
    "CommandArguments": "num_queues_per_dim:uint32 comm_scale:double injection_scale:double "
    "rendezvous_protocol:bool",
    "System": "scheduling_policy:string all_reduce_implementation:string* "
    "reduce_scatter_implementation:string* all_gather_implementation:string* "
    "all_to_all_implementation:string* all_to_all_implementation_custom:string* "
    "all_gather_implementation_custom:string* all_reduce_implementation_custom:string* "
    "collective_optimization:string local_reduction_delay:int32 active_chunks_per_dimension:int32 "
    "latency:float overhead:float gap:float global_memory:float endpoint_delay:int32 "
    "model_shared_bus:int32 preferred_dataset_splits:int32 peak_perf:double local_mem_bw:double "
    "roofline_enabled:int32 trace_enabled:int32 replay_only:int32 track_local_mem:int32 "
    "local_mem_trace_filename:string",
    "CommunicatorGroup": "identifier:string npu_list:int32*",
    "RemoteMemory": "memory_type:string remote_mem_latency:int32 remote_mem_bw:int32 "
    "num_nodes:int32 num_npus_per_node:int32",
    "Logging": "sink:Sink* logger:Logger*",
    "Sink": "name:string type:string filename:string truncate:bool create_parent_dir:bool",
    "Logger": "name:string sinks:string* level:string pattern:string",
    # Networks
    "NetworkBackend": "choice:{analytical_congestion_aware,analytical_congestion_unaware,ns3,htsim}"
    " analytical_congestion_aware:Analytical analytical_congestion_unaware:Analytical ns3:NS3 "
    "htsim:HTSim",
    "Analytical": "topology:AnalyticalTopology",
    "AnalyticalTopology": "choice:{network,infragraph} network:Dimension*",
    "Dimension": "topology:{ring,fullyconnected,switch} npus_count:int32 bandwidth:float "
    "latency:float",
    "NS3": "network:NS3Network topology:NS3Topology logical_topology:NS3LogicalTopology "
    "trace:NS3Trace",
    "NS3Topology": "choice:{nc_topology,infragraph} nc_topology:NCTopology",
    "NCTopology": "total_nodes:int32 total_switches:int32 total_links:int32 switch_ids:int32* "
    "connections:NCConnection*",
    "NCConnection": "source_index:uint32 destination_index:uint32 bandwidth:string latency:string "
    "error_rate:string",
    "NS3Trace": "trace_ids:uint32*",
    "NS3LogicalTopology": "logical_dimensions:uint32*",
    "NS3Network": "enable_qcn:int32 use_dynamic_pfc_threshold:int32 packet_payload_size:uint32 "
    "topology_file:string flow_file:string trace_file:string trace_output_file:string "
    "fct_output_file:string pfc_output_file:string simulator_stop_time:float cc_mode:int32 "
    "alpha_resume_interval:uint32 rate_decrease_interval:uint32 clamp_target_rate:uint32 "
    "rp_timer:uint32 ewma_gain:float fast_recovery_times:uint32 rate_ai:string rate_hai:string "
    "min_rate:string dctcp_rate_ai:string error_rate_per_link:float l2_chunk_size:uint32 "
    "l2_ack_interval:uint32 l2_back_to_zero:int32 has_win:int32 global_t:int32 var_win:int32 "
    "fast_react:int32 u_target:float mi_thresh:uint32 int_multi:uint32 multi_rate:int32 "
    "sample_feedback:int32 pint_log_base:float pint_prob:float rate_bound:int32 "
    "ack_high_prio:int32 link_down:uint32* enable_trace:int32 kmax_map:string kmin_map:string "
    "pmax_map:string buffer_size:uint32 qlen_mon_file:string qlen_mon_start:int64 "
    "qlen_mon_end:int64 nic_total_pause_time:int32 headroom_factor:int32",
    "HTSim": "htsim_protocol:HTSimProtocol topology:HTSimTopologyOptions",
    "HTSimTopologyOptions": "choice:{network_topology_configuration,infragraph} "
    "network_topology_configuration:HTSimNetwork",
    "HTSimNetwork": "network:Dimension* htsim_topology:HTSimTopology",
    "HTSimTopology": "choice:{fat_tree} fat_tree:FatTree",
    "FatTree": "nodes:int32 tiers:int32 podsize:int32 tier_0:FatTreeTier tier_1:FatTreeTier "
    "tier_2:FatTreeTier",
    "FatTreeTier": _TIER,
    "HTSimProtocol": "choice:{tcp} tcp:HTSimTcp",
    "HTSimTcp": "o:string sub:string nodes:string tcp_protocol:string",
    # InfraGraph
    "Infragraph": "infrastructure:Infrastructure annotations:bytes",
    "Infrastructure": "name:string description:string devices:Device* links:Link* "
    "instances:Instance* edges:InfrastructureEdge*",
    "Device": "name:string description:string components:Component* links:Link* edges:DeviceEdge*",
    "Component": "name:string description:string count:int32 choice:{custom,device,cpu,xpu,nic,"
    "memory,port,switch} =10custom:ComponentCustom device:Empty cpu:Empty xpu:Empty nic:Empty "
    "memory:Empty port:Empty switch:Empty",
    "ComponentCustom": "type:string",
    "Link": "name:string description:string physical:LinkPhysical",
    "LinkPhysical": "bandwidth:LinkBandwidth latency:LinkLatency",
    "LinkBandwidth": "choice:{gigabits_per_second,gigabytes_per_second,gigatransfers_per_second} "
    "gigabits_per_second:float gigabytes_per_second:float gigatransfers_per_second:float",
    "LinkLatency": "choice:{ms,us,ns} ms:float us:float ns:float",
    "DeviceEndpoint": "device:string component:string",
    "DeviceEdge": f"ep1:DeviceEndpoint ep2:DeviceEndpoint {_SCHEME}",
    "InfrastructureEndpoint": "instance:string component:string",
    "InfrastructureEdge": f"ep1:InfrastructureEndpoint ep2:InfrastructureEndpoint {_SCHEME}",
    "Instance": "name:string description:string device:string count:int32",
    # Annotations, of 1.4.0 and before
    "Annotation": "nodes:AnnotationNode* edges:AnnotationEdge* links:AnnotationLink*",
    "AnnotationNode": "name:string attributes:Attribute*",
    "AnnotationEdge": "ep1:string ep2:string attributes:Attribute*",
    "AnnotationLink": "name:string attributes:Attribute*",
    "Attribute": "attribute:string value:string",
    "Annotations": "link_specifications:LinkSpecification* "
    "device_specifications:DeviceSpecification* rank_assignment:RankAssignment*",
    "LinkSpecification": "link_name:string packet_loss_rate:float link_error_rate:float "
    "link_latency_ms:float link_bandwidth_gbps:float",
    "DeviceSpecification": "device_name:string device_type:string device_latency_ms:float "
    "device_bandwidth_gbps:float radix_up:float radix_down:float queue_up:float queue_down:float",
    "RankAssignment": "rank_identifier:float npu_identifier:string",
}


def _message(text: str) -> dict[int, Field]:
    fields, number = {}, 0
    for word in text.split():
        number += 1
        name, _, kind = word.partition(":")
        if name.startswith("="):
            digits = "".join(letter for letter in name[1:3] if letter.isdigit())
            number, name = int(digits), name[1 + len(digits) :]
        repeated = kind.endswith("*")
        kind = kind.removesuffix("*")
        names = _names(kind) if kind.startswith("{") else ()
        fields[number] = Field(name, number, "enum" if names else kind, repeated, names)
    return fields


def _names(text: str) -> tuple[tuple[int, str], ...]:
    found, number = [], 0
    for word in text.strip("{}").split(","):
        name, _, given = word.partition("=")
        number = int(given) if given else number + 1
        found.append((number, name))
    return tuple(found)


MESSAGES: wire.Messages = {name: _message(text) for name, text in _TABLE.items()}


def decode(data: bytes, message: str) -> dict[str, Any]:
    return wire.decode(data, message, MESSAGES)


def encode(message: str, values: dict[str, Any]) -> bytes:
    return wire.encode(values, message, MESSAGES)
