#include "workload/checks.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/too_long.hpp"
#include "collective/custom.hpp"
#include "trace/bounds.hpp"
#include "trace/schema.hpp"

namespace yantra {

namespace {

std::string attribute(const char* name) { return std::string("attribute '") + name + "'"; }

std::string signed_text(u64 value) { return std::to_string(static_cast<i64>(value)); }

class CustomCheck {
public:
    CustomCheck(const Graph& graph, u32 positions) : graph_(graph), positions_(positions) {}

    std::vector<Problem> run(bool whole_microseconds) {
        for (u32 node = 0; node < graph_.size(); ++node) {
            const NodeType type = static_cast<NodeType>(graph_.type[node]);
            if (type == NodeType::comp) {
                check_compute(node, whole_microseconds);
            } else if (type == NodeType::comm_send || type == NodeType::comm_recv) {
                check_message(node, type == NodeType::comm_send);
            } else {
                fail(node, "node type " + std::to_string(graph_.type[node]) +
                               " in a custom collective; expected COMM_SEND (5), COMM_RECV (6) or COMP (4)");
            }
        }
        return std::move(problems_);
    }

private:
    void fail(u32 node, std::string text) { problems_.push_back({node, false, std::move(text)}); }

    u64 require(u32 node, const IntColumn& column, const char* name) {
        if (column.kind_of(node) != IntColumn::integer) {
            fail(node, attribute(name) + " is missing or not an integer");
            return 0;
        }
        return column.value[node];
    }

    void require_chunks(u32 node) {
        const u64 chunks = require(node, graph_.msg_chunk_cnt, "msg_chunk_cnt");
        const u64 total = require(node, graph_.total_chunk_cnt, "total_chunk_cnt");
        if (has_chunks(graph_, node) && (chunks >> 31U != 0 || total >> 31U != 0 || total == 0)) {
            fail(node, "attributes 'msg_chunk_cnt' and 'total_chunk_cnt' are " + signed_text(chunks) +
                           " and " + signed_text(total) +
                           "; expected 0 or more chunks of 1 or more, both below 2^31");
        }
    }

    void require_size(u32 node) {
        const bool in_chunks = graph_.msg_chunk_cnt.kind_of(node) != IntColumn::absent ||
                               graph_.total_chunk_cnt.kind_of(node) != IntColumn::absent;
        if (graph_.comm_size.kind_of(node) == IntColumn::absent && in_chunks) {
            require_chunks(node);
        } else {
            const u64 bytes = require(node, graph_.comm_size, "comm_size");
            if (!is_size(bytes)) {
                fail(node, "attribute '" + not_a_size("comm_size'", bytes));
            }
        }
    }

    void check_compute(u32 node, bool whole_microseconds) {
        if (has_chunks(graph_, node)) {
            require_chunks(node);
        }
        check_duration(graph_, node, whole_microseconds, longest_ticks, problems_);
    }

    void check_message(u32 node, bool sends) {
        require_size(node);
        require(node, graph_.comm_tag, "comm_tag");
        const char* const name = sends ? "comm_dst" : "comm_src";
        const u64 peer = require(node, sends ? graph_.comm_dst : graph_.comm_src, name);
        if (peer >= positions_) {
            fail(node, attribute(name) + " is " + signed_text(peer) + ", but the ranks are 0 to " +
                           std::to_string(positions_ - 1));
        }
    }

    const Graph& graph_;
    const u32 positions_;
    std::vector<Problem> problems_;
};

void check_message_of(const Job& job, u32 node, u32 rank, u32 ranks,
                      std::vector<Problem>& problems) {
    const Graph& graph = *job.graph;
    const Op& op = job.ops[node];
    const bool sends = op.kind == OpKind::send;
    const IntColumn& own = sends ? graph.comm_src : graph.comm_dst;
    const char* const own_name = sends ? "comm_src" : "comm_dst";
    const char* const peer_name = sends ? "comm_dst" : "comm_src";
    if (own.kind_of(node) == IntColumn::integer && own.value[node] != rank) {
        problems.push_back({node, false,
                            attribute(own_name) + " is " + signed_text(own.value[node]) +
                                ", but the trace is rank " + std::to_string(rank) + "'s"});
    }
    if (op.peer >= ranks) {
        problems.push_back({node, false,
                            attribute(peer_name) + " is " + std::to_string(static_cast<i32>(op.peer)) +
                                ", but the ranks are 0 to " + std::to_string(ranks - 1)});
    } else if (op.peer == rank) {
        problems.push_back({node, false,
                            attribute(peer_name) + " is the rank itself; a message needs two ranks"});
    }
}

}  // namespace

std::vector<Problem> check_rank(const Job& job, u32 rank, u32 ranks,
                                const std::function<bool(u32)>& is_member) {
    std::vector<Problem> problems;
    for (u32 node = 0; node < job.ops.size(); ++node) {
        const Op& op = job.ops[node];
        if (is_message(op)) {
            check_message_of(job, node, rank, ranks, problems);
        } else if (op.kind == OpKind::collective && !is_member(op.communicator)) {
            problems.push_back({node, false,
                                "rank " + std::to_string(rank) +
                                    " is not a member of the collective's group"});
        }
    }
    return problems;
}

std::vector<Problem> check_custom(const Graph& graph, u32 positions, bool whole_microseconds) {
    return CustomCheck(graph, positions).run(whole_microseconds);
}

bool check_duration(const Graph& graph, u32 node, bool whole_microseconds, u64 longest_ns,
                    std::vector<Problem>& problems) {
    const IntColumn& exact = graph.duration_ns;
    const IntColumn::Kind kind = whole_microseconds ? IntColumn::absent : exact.kind_of(node);
    std::string wrong;
    if (kind == IntColumn::other) {
        wrong = attribute("duration_ns") + " is not an integer";
    } else if (kind == IntColumn::integer && !is_size(exact.value[node])) {
        wrong = attribute("duration_ns") + " is " + signed_text(exact.value[node]) + ", not a time";
    } else if (kind == IntColumn::absent && !is_duration(graph.duration_micros[node])) {
        wrong = not_a_duration(graph.duration_micros[node]);
    } else if (const u64 ns = graph.recorded_ns(node, whole_microseconds); ns > longest_ns) {
        wrong = "lasts " + std::to_string(ns) + " ns; " + beyond(longest_ns);
    } else {
        return true;
    }
    problems.push_back({node, false, std::move(wrong)});
    return false;
}

std::string beyond(u64 longest_ns) {
    const bool in_ns = longest_ns == longest_ticks;
    return "a run in " + std::string(in_ns ? "nanoseconds" : "picoseconds") + " counts at most " +
           std::to_string(longest_ns) + " ns of one duration, " + (in_ns ? "292 years" : "106 days");
}

}  // namespace yantra
