// Python's view of a model's parameters.

#include <nanobind/stl/vector.h>

#include <vector>

#include "bind/choices.hpp"
#include "bind/fields.hpp"
#include "bind/parts.hpp"
#include "model/model.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

void bind_choices(nb::module_& module) {
    Choices<Priority>(module, "Priority")
        .value("LIFO", Priority::lifo)
        .value("FIFO", Priority::fifo)
        .value("EXPLICIT", Priority::given);
    Choices<InterDimension>(module, "InterDimension")
        .value("ASCENDING", InterDimension::ascending)
        .value("ROUND_ROBIN", InterDimension::round_robin)
        .value("THEMIS", InterDimension::themis)
        .value("THEMIS_FLEX", InterDimension::themis_flex);
    Choices<IntraDimension>(module, "IntraDimension")
        .value("FIFO", IntraDimension::fifo)
        .value("RG", IntraDimension::rg)
        .value("SMALLEST_FIRST", IntraDimension::smallest_first)
        .value("LESS_REMAINING_PHASE_FIRST", IntraDimension::less_remaining_phase_first);
    Choices<RemoteMemoryKind>(module, "RemoteMemoryKind")
        .value("NONE", RemoteMemoryKind::absent)
        .value("PER_NPU", RemoteMemoryKind::per_rank)
        .value("PER_NODE", RemoteMemoryKind::per_node)
        .value("POOL", RemoteMemoryKind::pool)
        .value("PIPELINE", RemoteMemoryKind::pipeline);
    Choices<MemoryLevel>(module, "MemoryLevel")
        .value("RANK", MemoryLevel::rank)
        .value("NODE", MemoryLevel::node)
        .value("POOL", MemoryLevel::pool);
    Choices<Block>(module, "Block")
        .value("RING", Block::ring)
        .value("FULLY_CONNECTED", Block::fully_connected)
        .value("SWITCH", Block::switched)
        .value("TABLE", Block::table);
    Choices<CollectiveKind>(module, "CollectiveKind")
        .value("ALL_REDUCE", CollectiveKind::all_reduce)
        .value("REDUCE_SCATTER", CollectiveKind::reduce_scatter)
        .value("ALL_GATHER", CollectiveKind::all_gather)
        .value("ALL_TO_ALL", CollectiveKind::all_to_all)
        .value("BROADCAST", CollectiveKind::broadcast)
        .value("REDUCE", CollectiveKind::reduce)
        .value("GATHER", CollectiveKind::gather)
        .value("SCATTER", CollectiveKind::scatter)
        .value("BARRIER", CollectiveKind::barrier);
    Choices<NodeClass>(module, "NodeClass")
        .value("GPU", NodeClass::gpu)
        .value("CPU", NodeClass::cpu)
        .value("COMMUNICATION", NodeClass::communication)
        .value("MEMORY", NodeClass::memory)
        .value("INVALID", NodeClass::invalid)
        .value("UNEXPLAINED_DEVICE", NodeClass::unexplained_device)
        .value("UNEXPLAINED_HOST", NodeClass::unexplained_host);
}

void bind_quirks(nb::module_& module) {
    Class<Quirks>(module, "Quirks")
        .setting("padded_chunks", &Quirks::padded_chunks)
        .setting("half_queues", &Quirks::half_queues)
        .setting("send_completes_on_arrival", &Quirks::send_completes_on_arrival)
        .setting("lowest_dimension_only", &Quirks::lowest_dimension_only)
        .setting("links_carry_anything", &Quirks::links_carry_anything)
        .setting("sizes_of_32_bits", &Quirks::sizes_of_32_bits)
        .setting("bus_charges_reduction_twice", &Quirks::bus_charges_reduction_twice)
        .setting("hash_order_custom", &Quirks::hash_order_custom)
        .setting("phases_as_ready", &Quirks::phases_as_ready)
        .setting("no_duration_takes_a_nanosecond", &Quirks::no_duration_takes_a_nanosecond)
        .setting("collectives_start_together", &Quirks::collectives_start_together)
        .setting("mismatched_collectives_meet", &Quirks::mismatched_collectives_meet)
        .setting("whole_microseconds", &Quirks::whole_microseconds)
        .def(nb::init<>());
}

void bind_system(nb::module_& module) {
    nb::class_<SharedBusParameters>(module, "SharedBus")
        .def("__init__", [](SharedBusParameters* self, u64 latency, u64 overhead, u64 gap,
                            double gap_per_byte) {
            new (self) SharedBusParameters{true, latency, overhead, gap, gap_per_byte};
        }, nb::kw_only(), "latency"_a, "overhead"_a, "gap"_a, "gap_per_byte"_a);
    Class<SystemParameters>(module, "SystemParameters")
        .setting("priority", &SystemParameters::priority)
        .setting("inter_dimension", &SystemParameters::inter_dimension)
        .setting("intra_dimension", &SystemParameters::intra_dimension)
        .setting("local_bw_aware", &SystemParameters::local_bw_aware)
        .setting("chunks", &SystemParameters::chunks)
        .setting("active_chunks", &SystemParameters::active_chunks)
        .setting("queues_per_dimension", &SystemParameters::queues_per_dimension)
        .setting("endpoint_delay", &SystemParameters::endpoint_delay)
        .setting("group_hand_over", &SystemParameters::group_hand_over)
        .setting("local_reduction_delay", &SystemParameters::local_reduction_delay)
        .setting("memory_bytes_per_s", &SystemParameters::memory_bytes_per_s)
        .setting("shared_bytes_per_s", &SystemParameters::shared_bytes_per_s)
        .setting("units_of_collectives", &SystemParameters::units_of_collectives)
        .setting("units_of_all_to_alls", &SystemParameters::units_of_all_to_alls)
        .setting("bytes_per_s_of_collectives", &SystemParameters::bytes_per_s_of_collectives)
        .setting("takes_units_alone", &SystemParameters::takes_units_alone)
        .setting("rendezvous", &SystemParameters::rendezvous)
        .setting("custom_work_takes_no_time", &SystemParameters::custom_work_takes_no_time)
        .setting("bus", &SystemParameters::bus)
        .def(nb::init<>());
}

void bind_cluster(nb::module_& module) {
    nb::class_<TimeScale>(module, "TimeScale")
        .def_static("truncated_nanoseconds", &TimeScale::truncated_nanoseconds)
        .def_static("picoseconds", &TimeScale::picoseconds)
        .def_prop_ro("ticks_per_ns", &TimeScale::ticks_per_ns);
    nb::class_<Dimension>(module, "Dimension")
        .def(nb::init<Block, u32, double, double, double>(), nb::kw_only(), "block"_a, "size"_a,
             "bytes_per_ns"_a, "latency_ns"_a, "weight"_a);
    nb::class_<BlockTable>(module, "BlockTable")
        .def(nb::init<u32, u32, std::vector<u32>, std::vector<u32>, std::vector<u32>>(), "ranks"_a,
             "devices"_a, "link_from"_a, "link_to"_a, "next_link"_a);
    nb::class_<MemoryHop>(module, "MemoryHop")
        .def(nb::init<MemoryLevel, double>(), nb::kw_only(), "level"_a, "bytes_per_ns"_a);
    nb::class_<RemoteMemory>(module, "RemoteMemory")
        .def(nb::init<RemoteMemoryKind, u64, double, u32, bool, double, std::vector<MemoryHop>>(),
             nb::kw_only(), "kind"_a, "latency_ns"_a, "bytes_per_ns"_a, "ranks_per_node"_a,
             "accesses_say"_a = false, "chunk_bytes"_a = 0.0, "hops"_a = std::vector<MemoryHop>{});
    Class<ResourceMap>(module, "ResourceMap")
        .field("capacity", &ResourceMap::capacity)
        .field("cpu", &ResourceMap::cpu)
        .field("compute", &ResourceMap::compute)
        .field("memory", &ResourceMap::memory)
        .def(nb::init<std::vector<u32>, u8, u8, u8, std::vector<u8>, std::vector<u8>>(),
             nb::kw_only(), "capacity"_a, "cpu"_a, "compute"_a, "memory"_a,
             "collective"_a = std::vector<u8>{}, "send"_a = std::vector<u8>{});
}

}  // namespace

void register_parameters(nb::module_& module) {
    bind_choices(module);
    bind_quirks(module);
    bind_system(module);
    bind_cluster(module);
}

}  // namespace yantra
