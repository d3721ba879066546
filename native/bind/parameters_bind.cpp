// Python's view of what a model is told about its cluster: choices, records and the quirks of a run.
//
// SystemParameters and Quirks have many fields of which a scenario sets each by name, so they are filled
// in and then given to the builder, which copies them.
#include <nanobind/stl/vector.h>

#include "bind/choices.hpp"
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
        .value("INVALID", NodeClass::invalid);
}

void bind_quirks(nb::module_& module) {
    nb::class_<Quirks>(module, "Quirks")
        .def(nb::init<>())
        .def_rw("padded_chunks", &Quirks::padded_chunks)
        .def_rw("half_queues", &Quirks::half_queues)
        .def_rw("send_completes_on_arrival", &Quirks::send_completes_on_arrival)
        .def_rw("lowest_dimension_only", &Quirks::lowest_dimension_only)
        .def_rw("sizes_of_32_bits", &Quirks::sizes_of_32_bits)
        .def_rw("bus_charges_reduction_twice", &Quirks::bus_charges_reduction_twice)
        .def_rw("hash_order_custom", &Quirks::hash_order_custom)
        .def_rw("phases_as_ready", &Quirks::phases_as_ready)
        .def_rw("no_duration_takes_a_nanosecond", &Quirks::no_duration_takes_a_nanosecond)
        .def_rw("mismatched_collectives_meet", &Quirks::mismatched_collectives_meet)
        .def_rw("whole_microseconds", &Quirks::whole_microseconds);
}

void bind_system(nb::module_& module) {
    nb::class_<SharedBusParameters>(module, "SharedBus")
        .def("__init__", [](SharedBusParameters* self, u64 latency, u64 overhead, u64 gap,
                            double gap_per_byte) {
            new (self) SharedBusParameters{true, latency, overhead, gap, gap_per_byte};
        }, nb::kw_only(), "latency"_a, "overhead"_a, "gap"_a, "gap_per_byte"_a);
    nb::class_<SystemParameters>(module, "SystemParameters")
        .def(nb::init<>())
        .def_rw("priority", &SystemParameters::priority)
        .def_rw("inter_dimension", &SystemParameters::inter_dimension)
        .def_rw("intra_dimension", &SystemParameters::intra_dimension)
        .def_rw("local_bw_aware", &SystemParameters::local_bw_aware)
        .def_rw("chunks", &SystemParameters::chunks)
        .def_rw("active_chunks", &SystemParameters::active_chunks)
        .def_rw("queues_per_dimension", &SystemParameters::queues_per_dimension)
        .def_rw("endpoint_delay", &SystemParameters::endpoint_delay)
        .def_rw("group_hand_over", &SystemParameters::group_hand_over)
        .def_rw("local_reduction_delay", &SystemParameters::local_reduction_delay)
        .def_rw("memory_bytes_per_s", &SystemParameters::memory_bytes_per_s)
        .def_rw("shared_bytes_per_s", &SystemParameters::shared_bytes_per_s)
        .def_rw("units_of_collectives", &SystemParameters::units_of_collectives)
        .def_rw("units_of_all_to_alls", &SystemParameters::units_of_all_to_alls)
        .def_rw("bytes_per_s_of_collectives", &SystemParameters::bytes_per_s_of_collectives)
        .def_rw("rendezvous", &SystemParameters::rendezvous)
        .def_rw("custom_work_takes_no_time", &SystemParameters::custom_work_takes_no_time)
        .def_rw("bus", &SystemParameters::bus);
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
    nb::class_<ResourceMap>(module, "ResourceMap")
        .def(nb::init<std::vector<u32>, u8, u8, u8, std::vector<u8>, std::vector<u8>>(),
             nb::kw_only(), "capacity"_a, "cpu"_a, "compute"_a, "memory"_a,
             "collective"_a = std::vector<u8>{}, "send"_a = std::vector<u8>{})
        .def_ro("capacity", &ResourceMap::capacity)
        .def_ro("cpu", &ResourceMap::cpu)
        .def_ro("compute", &ResourceMap::compute)
        .def_ro("memory", &ResourceMap::memory);
}

}  // namespace

void register_parameters(nb::module_& module) {
    bind_choices(module);
    bind_quirks(module);
    bind_system(module);
    bind_cluster(module);
}

}  // namespace yantra
