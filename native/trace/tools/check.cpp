#include "trace/tools/check.hpp"

#include <array>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "trace/bounds.hpp"

namespace yantra {

namespace {

constexpr std::array<const char*, 8> type_names{"INVALID_NODE",   "METADATA_NODE",
                                                "MEM_LOAD_NODE",  "MEM_STORE_NODE",
                                                "COMP_NODE",      "COMM_SEND_NODE",
                                                "COMM_RECV_NODE", "COMM_COLL_NODE"};
constexpr std::uint64_t collective_types = 10;
constexpr std::uint32_t attributes_before_0_0_4 = 11;  // their field number in Node until October 2023

using Need = std::pair<const char*, const IntColumn*>;

class Checker {
public:
    Checker(const Trace& trace, const Graph& graph) : trace_(trace), graph_(graph) {}

    std::vector<Diagnostic> run() {
        file();
        for (std::uint32_t node = 0; node < graph_.size(); ++node) {
            if (known_type(node)) {
                attributes(node);
                sizes(node);
            }
        }
        return std::move(findings_).take();
    }

private:
    void file() {
        if (trace_.size() == 0) {
            about_file("no-nodes", 0, "the trace has no nodes");
        }
        if (trace_.unknown.field != 0) {
            const std::uint32_t field = trace_.unknown.field;
            about_file("unknown-field", trace_.unknown.byte_offset,
                       "field " + std::to_string(field) + " is not in the Chakra schema; it is kept, not understood" +
                           (field == attributes_before_0_0_4
                                ? "; layouts before 0.0.4 keep attributes there, but the file fits none of them"
                                : ""));
        }
    }

    bool known_type(std::uint32_t node) {
        const std::int32_t type = graph_.type[node];
        if (type >= 0 && type < static_cast<std::int32_t>(type_names.size())) {
            return true;
        }
        report("unknown-node-type", node, [&] {
            return "type " + std::to_string(type) + " is none of Chakra's node types, 0 to 7";
        });
        return false;
    }

    void attributes(std::uint32_t node) {
        switch (static_cast<NodeType>(graph_.type[node])) {
            case NodeType::mem_load:
            case NodeType::mem_store: need(node, {{"tensor_size", &graph_.tensor_size}}); return;
            case NodeType::comm_coll:
                need(node, {{"comm_type", &graph_.comm_type}, {"comm_size", &graph_.comm_size}});
                collective(node);
                on_cpu(node);
                return;
            case NodeType::comm_send:
                need(node, {{"comm_dst", &graph_.comm_dst}});
                size(node);
                need(node, {{"comm_tag", &graph_.comm_tag}});
                on_cpu(node);
                return;
            case NodeType::comm_recv:
                need(node, {{"comm_src", &graph_.comm_src}});
                size(node);
                need(node, {{"comm_tag", &graph_.comm_tag}});
                on_cpu(node);
                return;
            default: return;
        }
    }

    void need(std::uint32_t node, std::initializer_list<Need> columns) {
        for (const auto& [name, column] : columns) {
            if (column->kind_of(node) == IntColumn::absent) {
                report("missing-attribute", node,
                       [&, what = name] { return a_node(node) + " needs the attribute " + what; });
            }
        }
    }

    void size(std::uint32_t node) {
        if (graph_.msg_chunk_cnt.kind_of(node) == IntColumn::absent ||
            graph_.total_chunk_cnt.kind_of(node) == IntColumn::absent) {
            need(node, {{"comm_size", &graph_.comm_size}});
        }
    }

    void collective(std::uint32_t node) {
        if (graph_.comm_type.kind_of(node) != IntColumn::integer) {
            return;
        }
        const std::uint64_t type = graph_.comm_type.value[node];
        if (type >= collective_types) {
            report("unknown-collective", node, [&] {
                return "comm_type " + std::to_string(static_cast<std::int64_t>(type)) +
                       " is none of Chakra's collectives, 0 to 9";
            });
        }
    }

    void on_cpu(std::uint32_t node) {
        if (graph_.is_cpu_op.kind_of(node) == IntColumn::integer && graph_.is_cpu_op.value[node] != 0) {
            report("communication-on-cpu", node,
                   [&] { return a_node(node) + " cannot run on the CPU; is_cpu_op must be false"; });
        }
    }

    void sizes(std::uint32_t node) {
        for (const auto& [name, column] :
             {Need{"comm_size", &graph_.comm_size}, Need{"tensor_size", &graph_.tensor_size},
              Need{"num_ops", &graph_.num_ops}}) {
            if (column->kind_of(node) == IntColumn::integer && !is_size(column->value[node])) {
                report("negative-size", node, [&, what = name, value = column->value[node]] {
                    return not_a_size(what, value);
                });
            }
        }
    }

    std::string a_node(std::uint32_t node) const {
        const std::string type = type_names[static_cast<std::size_t>(graph_.type[node])];
        return "a " + type;
    }

    void about_file(const char* code, std::uint64_t byte_offset, std::string text) {
        if (findings_.has_room(code)) {
            Diagnostic finding{Severity::warning, code, 0, "", byte_offset, std::move(text)};
            finding.about_node = false;
            findings_.add(std::move(finding));
        }
    }

    template <typename Words>
    void report(const char* code, std::uint32_t node, const Words& words) {
        if (findings_.has_room(code)) {
            findings_.add({Severity::error, code, graph_.id[node], std::string(graph_.name(node)),
                           byte_offset(graph_.id[node]), words()});
        }
    }

    // From the last record of the id.
    std::uint64_t byte_offset(std::uint64_t id) const {
        for (std::size_t record = trace_.size(); record-- > 0;) {
            if (trace_.id[record] == id) {
                return trace_.byte_offset[record];
            }
        }
        return 0;
    }

    const Trace& trace_;
    const Graph& graph_;
    DiagnosticList findings_;
};

}  // namespace

std::vector<Diagnostic> check(const Trace& trace, const Graph& graph) {
    return Checker(trace, graph).run();
}

}  // namespace yantra
