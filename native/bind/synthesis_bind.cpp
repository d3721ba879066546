// Capacities are two columns: bits from 64, and those below.
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "base/ensure.hpp"
#include "bind/arrays.hpp"
#include "bind/choices.hpp"
#include "bind/fields.hpp"
#include "bind/interruptible.hpp"
#include "bind/parts.hpp"
#include "collective/synthesis/flow_network.hpp"
#include "collective/synthesis/gather_cut.hpp"
#include "collective/synthesis/packing.hpp"
#include "collective/synthesis/proof.hpp"
#include "collective/synthesis/rank_links.hpp"
#include "collective/synthesis/spreading.hpp"
#include "collective/synthesis/steps.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

using synthesis::Amount;
using synthesis::Link;

struct CutSide {
    std::vector<u8> inside;
};

struct RankLinkColumns {
    std::vector<u32> start;
    std::vector<u32> end;
    std::vector<i64> capacity;
    std::vector<u64> first_way;  // of each link, and the end of the last
    std::vector<i64> amount;
    std::vector<u64> first_device;  // of each way, and the end of the last
    std::vector<u32> device;
};

struct TreeColumns {
    std::vector<u32> root;
    std::vector<i64> copies;
    std::vector<u64> first_link;  // of each tree, and the end of the last
    std::vector<u32> link;
};

struct TransferColumns {
    std::vector<u32> link;
    std::vector<u32> chunk;
    std::vector<i64> start;
    std::vector<i64> end;
};

struct SynthesisedSteps {
    std::vector<u32> rank;   // of each thread block
    std::vector<u32> peer;   // whom it sends to or receives from
    std::vector<u8> sends;   // whether it sends
    std::vector<u64> begin;  // its first step, and the end of the last
    std::vector<u8> kind;    // of each step: send, receive, receive and add, nop
    std::vector<u32> first;  // block
    std::vector<u32> count;
    std::vector<u32> needs;  // another step, or 2^32 - 1
    synthesis::Steps of;
};

i64 as_i64(Amount amount) {
    ensure(amount >= 0 && amount < Amount{1} << 62, "synthesis: an amount has 62 bits");
    return static_cast<i64>(amount);
}

std::vector<Link> links_of(u32 devices, const Array<u32>& start, const Array<u32>& end, const Array<u64>& high,
                           const Array<u64>& low) {
    ensure(start.size() == end.size() && end.size() == high.size() && high.size() == low.size(),
           "synthesis: columns of links have one length");
    std::vector<Link> links;
    for (std::size_t at = 0; at < start.size(); ++at) {
        ensure(start.data()[at] < devices && end.data()[at] < devices, "synthesis: a link joins devices");
        const auto above = static_cast<Amount>(high.data()[at]);
        ensure(above < Amount{1} << 60, "synthesis: a capacity has 124 bits");
        links.push_back({start.data()[at], end.data()[at], (above << 64) + static_cast<Amount>(low.data()[at])});
    }
    return links;
}

CutSide gather_cut(u32 ranks, u32 devices, const Array<u32>& start, const Array<u32>& end, const Array<u64>& high,
                   const Array<u64>& low, const std::vector<u32>& sinks) {
    const std::vector<Link> links = links_of(devices, start, end, high, low);
    const InterruptibleCall call;
    return {synthesis::gather_cut(ranks, devices, links, sinks).inside};
}

CutSide least_cut(u32 devices, const Array<u32>& start, const Array<u32>& end, const Array<u64>& high,
                  const Array<u64>& low, u32 source, const std::vector<u32>& sinks) {
    ensure(source < devices, "synthesis: a source is a device");
    const std::vector<Link> links = links_of(devices, start, end, high, low);
    const InterruptibleCall call;
    synthesis::FlowNetwork network(devices);
    for (const Link& link : links) {
        network.add(link.start, link.end, link.capacity);
    }
    CutSide least;
    Amount most = synthesis::unlimited;
    for (const u32 sink : sinks) {
        ensure(sink < devices && sink != source, "synthesis: a sink is another device");
        if (const Amount flow = network.flow(source, sink, most); flow < most) {
            most = flow;
            least.inside = network.side();
        }
    }
    return least;
}

RankLinkColumns rank_links(u32 ranks, u32 devices, const Array<u32>& start, const Array<u32>& end,
                           const Array<u64>& high, const Array<u64>& low, i64 trees) {
    const std::vector<Link> links = links_of(devices, start, end, high, low);
    const InterruptibleCall call;
    RankLinkColumns columns;
    for (const synthesis::RankLink& link : synthesis::rank_links(ranks, devices, links, trees)) {
        columns.start.push_back(link.start);
        columns.end.push_back(link.end);
        columns.capacity.push_back(as_i64(link.capacity));
        columns.first_way.push_back(columns.amount.size());
        for (const synthesis::Way& way : link.ways) {
            columns.amount.push_back(as_i64(way.amount));
            columns.first_device.push_back(columns.device.size());
            columns.device.insert(columns.device.end(), way.devices.begin(), way.devices.end());
        }
    }
    columns.first_way.push_back(columns.amount.size());
    columns.first_device.push_back(columns.device.size());
    return columns;
}

TreeColumns pack_trees(u32 ranks, const Array<u32>& start, const Array<u32>& end, const Array<u64>& high,
                       const Array<u64>& low, i64 trees) {
    const std::vector<Link> links = links_of(ranks, start, end, high, low);
    const InterruptibleCall call;
    TreeColumns columns;
    for (const synthesis::Tree& tree : synthesis::pack_trees(ranks, links, trees)) {
        columns.root.push_back(tree.root);
        columns.copies.push_back(as_i64(tree.copies));
        columns.first_link.push_back(columns.link.size());
        columns.link.insert(columns.link.end(), tree.links.begin(), tree.links.end());
    }
    columns.first_link.push_back(columns.link.size());
    return columns;
}

TransferColumns spread_chunks(u32 ranks, const Array<u32>& start, const Array<u32>& end, const Array<i64>& duration,
                              const std::vector<u32>& owners, bool rarest, u64 seed) {
    ensure(start.size() == end.size() && end.size() == duration.size(),
           "synthesis: columns of links have one length");
    std::vector<synthesis::TimedLink> links;
    for (std::size_t at = 0; at < start.size(); ++at) {
        links.push_back({start.data()[at], end.data()[at], duration.data()[at]});
        ensure(links.back().start < ranks && links.back().end < ranks && links.back().duration > 0,
               "synthesis: a link joins ranks and takes time");
    }
    for (const u32 owner : owners) {
        ensure(owner < ranks, "synthesis: an owner is a rank");
    }
    const InterruptibleCall call;
    const auto choice = rarest ? synthesis::Choice::rarest : synthesis::Choice::any;
    TransferColumns columns;
    for (const synthesis::Transfer& each : synthesis::spread_chunks(ranks, links, owners, choice, seed)) {
        columns.link.push_back(each.link);
        columns.chunk.push_back(each.chunk);
        columns.start.push_back(each.start);
        columns.end.push_back(each.end);
    }
    return columns;
}

SynthesisedSteps steps_of(u32 ranks, u32 blocks, const Array<u32>& from, const Array<u32>& to, const Array<u32>& first,
                     const Array<u32>& count, const Array<u8>& adds) {
    const std::size_t moves = from.size();
    ensure(to.size() == moves && first.size() == moves && count.size() == moves && adds.size() == moves,
           "synthesis: columns of moves have one length");
    std::vector<synthesis::Move> listed;
    listed.reserve(moves);
    for (std::size_t at = 0; at < moves; ++at) {
        listed.push_back(
            {from.data()[at], to.data()[at], first.data()[at], count.data()[at], adds.data()[at] != 0});
    }
    const InterruptibleCall call;
    SynthesisedSteps columns;
    columns.of = synthesis::steps_of(ranks, blocks, listed);
    for (const synthesis::Lane& lane : columns.of.lanes) {
        columns.rank.push_back(lane.rank);
        columns.peer.push_back(lane.peer);
        columns.sends.push_back(lane.sends ? 1 : 0);
        columns.begin.push_back(lane.begin);
    }
    columns.begin.push_back(columns.of.steps.size());
    for (const synthesis::Step& step : columns.of.steps) {
        columns.kind.push_back(static_cast<u8>(step.kind));
        columns.first.push_back(step.first);
        columns.count.push_back(step.count);
        columns.needs.push_back(step.needs);
    }
    return columns;
}

synthesis::Proof prove_steps(const SynthesisedSteps& steps, u32 promise) {
    ensure(promise <= static_cast<u32>(synthesis::Promise::all_reduce), "synthesis: a promise is one of three");
    const InterruptibleCall call;
    return synthesis::prove(steps.of, static_cast<synthesis::Promise>(promise));
}

}  // namespace

void register_synthesis(nb::module_& module) {
    Class<CutSide> side(module, "CutSide");
    side.column("inside", &CutSide::inside);
    Class<RankLinkColumns> links(module, "RankLinks");
    links.column("start", &RankLinkColumns::start);
    links.column("end", &RankLinkColumns::end);
    links.column("capacity", &RankLinkColumns::capacity);
    links.column("first_way", &RankLinkColumns::first_way);
    links.column("amount", &RankLinkColumns::amount);
    links.column("first_device", &RankLinkColumns::first_device);
    links.column("device", &RankLinkColumns::device);
    Class<TreeColumns> trees(module, "Trees");
    trees.column("root", &TreeColumns::root);
    trees.column("copies", &TreeColumns::copies);
    trees.column("first_link", &TreeColumns::first_link);
    trees.column("link", &TreeColumns::link);
    Class<TransferColumns> transfers(module, "Transfers");
    transfers.column("link", &TransferColumns::link);
    transfers.column("chunk", &TransferColumns::chunk);
    transfers.column("start", &TransferColumns::start);
    transfers.column("end", &TransferColumns::end);
    Class<SynthesisedSteps> steps(module, "SynthesisedSteps");
    steps.column("rank", &SynthesisedSteps::rank);
    steps.column("peer", &SynthesisedSteps::peer);
    steps.column("sends", &SynthesisedSteps::sends);
    steps.column("begin", &SynthesisedSteps::begin);
    steps.column("kind", &SynthesisedSteps::kind);
    steps.column("first", &SynthesisedSteps::first);
    steps.column("count", &SynthesisedSteps::count);
    steps.column("needs", &SynthesisedSteps::needs);
    Class<synthesis::Proof> proof(module, "StepsProof");
    proof.def_prop_ro("wrong", [](const synthesis::Proof& self) { return self.wrong == nullptr ? "" : self.wrong; });
    proof.field("messages", &synthesis::Proof::messages);
    proof.field("connections", &synthesis::Proof::connections);
    proof.field("depth", &synthesis::Proof::depth);
    module.def("gather_cut", &gather_cut, nb::kw_only(), "ranks"_a, "devices"_a, "start"_a, "end"_a, "high"_a,
               "low"_a, "sinks"_a);
    module.def("least_cut", &least_cut, nb::kw_only(), "devices"_a, "start"_a, "end"_a, "high"_a, "low"_a,
               "source"_a, "sinks"_a);
    module.def("rank_links", &rank_links, nb::kw_only(), "ranks"_a, "devices"_a, "start"_a, "end"_a, "high"_a,
               "low"_a, "trees"_a);
    module.def("pack_trees", &pack_trees, nb::kw_only(), "ranks"_a, "start"_a, "end"_a, "high"_a, "low"_a,
               "trees"_a);
    module.def("steps_of", &steps_of, nb::kw_only(), "ranks"_a, "blocks"_a, "start"_a, "end"_a, "first"_a, "count"_a,
               "adds"_a);
    module.def("prove_steps", &prove_steps, "steps"_a, "promise"_a);
    module.def("spread_chunks", &spread_chunks, nb::kw_only(), "ranks"_a, "start"_a, "end"_a, "duration"_a,
               "owners"_a, "rarest"_a, "seed"_a);
}

}  // namespace yantra
