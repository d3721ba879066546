// Nodes as records of a Chakra trace, with upstream's attributes and exact times.
#include <algorithm>
#include <string_view>

#include "trace/replay/facts.hpp"

namespace yantra::replay {

namespace {

// Attributes of the node that is added next.
class Record {
public:
    explicit Record(Trace& trace) : trace_(trace) {}

    void whole(std::string_view name, std::int64_t value) {
        add(name, AttributeKind::int64, static_cast<std::uint64_t>(value));
    }
    void size(std::string_view name, std::uint64_t value) { add(name, AttributeKind::uint64, value); }
    void truth(std::string_view name, bool value) { add(name, AttributeKind::boolean, value ? 1 : 0); }
    void text(std::string_view name, std::string_view value) {
        const Text added = trace_.add_text(value);
        add(name, AttributeKind::string, added.begin);
        trace_.attributes.back().count = static_cast<std::uint32_t>(added.size);
    }
    void add(std::string_view name, AttributeKind kind, std::uint64_t value) {
        trace_.attributes.push_back({value, 0, trace_.attribute_names.intern(name), kind});
    }
    void tensors(IoSide side, std::string_view texts) {
        const std::size_t shapes = texts.find('\0');
        const std::size_t types = texts.find('\0', shapes + 1);
        trace_.io.push_back({trace_.size(), side, trace_.add_text(texts.substr(0, shapes)),
                             trace_.add_text(texts.substr(shapes + 1, types - shapes - 1)),
                             trace_.add_text(texts.substr(types + 1))});
    }

private:
    Trace& trace_;
};

class Emitter {
public:
    Emitter(const Facts& facts, const Nodes& nodes, Trace& trace)
        : facts_(facts), nodes_(nodes), trace_(trace), record_(trace) {}

    bool is_special(std::uint32_t node) const {
        return nodes_.kind[node] == Kind::device && facts_.ops[nodes_.source[node]].is_special;
    }

    void emit(std::uint32_t node) {
        std::int32_t type = static_cast<std::int32_t>(NodeType::comp);
        switch (nodes_.kind[node]) {
            case Kind::operation: type = operation(node); break;
            case Kind::device: type = device(node); break;
            default: part(node); break;
        }
        facts_.each_dep(nodes_, node, [this](std::uint64_t id) { trace_.data_dep.push_back(id); });
        if (nodes_.ctrl[node] != none) {
            trace_.ctrl_dep.push_back(facts_.id(nodes_.ctrl[node]));
        }
        const auto start = static_cast<std::uint64_t>(std::max<std::int64_t>(0, nodes_.start_us[node]));
        trace_.add_node({facts_.id(node), facts_.names[nodes_.name[node]], type, start,
                         static_cast<std::uint64_t>(nodes_.dur_us[node]), 0});
    }

private:
    void times(std::uint32_t node) {
        record_.whole("start_time_ns", nodes_.start_ns[node]);
        record_.whole("duration_ns", nodes_.dur_ns[node]);
    }

    void part(std::uint32_t node) {
        const bool is_cpu = nodes_.device(node) < 0;
        const Kind kind = nodes_.kind[node];
        record_.truth("is_cpu_op", is_cpu);
        record_.text("part", kind == Kind::slice ? "slice" : kind == Kind::wait ? "wait" : "delay");
        times(node);
        record_.whole(is_cpu ? "thread" : "stream", nodes_.lane(node));
        if (!is_cpu && kind == Kind::delay) {
            record_.text("op_class", "delay");
        }
    }

    std::int32_t operation(std::uint32_t node) {
        const std::uint32_t source = nodes_.source[node];
        const OfOperator& operation = facts_.operators[source];
        host(operation);
        record_.truth("is_cpu_op", true);
        record_.whole("stream", 0);
        if (operation.counts) {
            record_.whole("num_ops", operation.num_ops);
        }
        if (operation.is_timed) {
            times(node);
        }
        record_.whole("thread", nodes_.lane(node));
        tensors(operation);
        return static_cast<std::int32_t>(operation.is_metadata ? NodeType::metadata : NodeType::comp);
    }

    std::int32_t device(std::uint32_t node) {
        const std::uint32_t source = nodes_.source[node];
        const OfDeviceOp& op = facts_.ops[source];
        const OfOperator* const around = op.parent < missing ? &facts_.operators[op.parent] : nullptr;
        if (around != nullptr) {
            host(*around);
        }
        if (op.flops != 0) {
            record_.whole("num_ops", op.flops);
        }
        record_.truth("is_cpu_op", false);
        record_.whole("stream", op.stream);
        if (op.has_bytes) {
            record_.size("tensor_size", op.bytes);
        }
        if (op.form != none) {
            form(facts_.forms[op.form]);
        }
        times(node);
        record_.whole("device", op.device);
        record_.whole("correlation", op.correlation);
        if (around != nullptr) {
            tensors(*around);
        }
        return op.type;
    }

    void host(const OfOperator& operation) {
        for (std::size_t place = 0; place < host_numbers.size(); ++place) {
            if ((operation.known >> place & 1) != 0) {
                record_.whole(host_numbers[place], operation.number[place]);
            }
        }
        if (operation.schema != none) {
            record_.text("op_schema", facts_.texts.names()[operation.schema]);
        }
    }

    void form(const Form& form) {
        for (const Form::Item& item : form.items) {
            if (item.kind == AttributeKind::string) {
                record_.text(item.name, item.text);
            } else {
                record_.add(item.name, item.kind, item.value);
            }
        }
    }

    void tensors(const OfOperator& operation) {
        record_.tensors(IoSide::inputs, facts_.tensors.names()[operation.inputs]);
        record_.tensors(IoSide::outputs, facts_.tensors.names()[operation.outputs]);
    }

    const Facts& facts_;
    const Nodes& nodes_;
    Trace& trace_;
    Record record_;
};

}  // namespace

void Facts::begin(const Recorded& of) {
    operators.resize(of.operators.size());
    for (std::uint32_t one = 0; one < of.operators.size(); ++one) {
        operators[one].is_timed = of.operators.is(one, Operators::timed);
    }
    ops.resize(of.ops.size());
    for (std::uint32_t op = 0; op < of.ops.size(); ++op) {
        ops[op].device = of.ops.device[op];
        ops[op].stream = of.ops.stream[op];
        ops[op].correlation = of.ops.correlation[op];
        ops[op].parent = of.ops.parent[op];
    }
}

void Facts::number(const Nodes& nodes) {
    first.clear();
    if (std::ranges::all_of(ops, [](const OfDeviceOp& op) { return op.parts == 1; })) {
        return;
    }
    first.reserve(nodes.size());
    std::uint64_t next = 0;
    for (std::uint32_t node = 0; node < nodes.size(); ++node) {
        first.push_back(next);
        next += parts(nodes, node);
    }
}

std::uint32_t emit(const Facts& facts, const Nodes& nodes, std::uint32_t begin, std::uint32_t end, Trace& trace) {
    Emitter emitter(facts, nodes, trace);
    while (begin < end && !emitter.is_special(begin)) {
        emitter.emit(begin++);
    }
    return begin;
}

}  // namespace yantra::replay
