// Enumerations as Python classes made without `enum`, which takes a tenth of a small command's
// time. To type checkers each is an enum.Enum (native/bind/stub.py). Trade-off: each is listed here
// with its Python name.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "accounting/steps.hpp"
#include "collective/program.hpp"
#include "execution/happening.hpp"
#include "export/cells.hpp"
#include "export/timeline.hpp"
#include "fabric/graph.hpp"
#include "fold/rank_classes.hpp"
#include "model/model.hpp"
#include "network/level.hpp"
#include "network/packet/settings.hpp"
#include "trace/graph.hpp"
#include "trace/launches.hpp"
#include "trace/tools/player.hpp"

namespace yantra {

struct Choice {
    const char* name;
    u32 value;
};

struct ChoiceClass {
    nanobind::handle type;
    std::vector<nanobind::handle> members;
};

template <class Enum>
ChoiceClass& class_of_choices() {
    static ChoiceClass made;
    return made;
}

// Call once, before any other.
void register_choices(nanobind::module_& module);

ChoiceClass make_choices(nanobind::handle scope, const char* name);
void add_choice(ChoiceClass& to, const char* name, u32 value);

// Used as nb::enum_: Choices<Priority>(module, "Priority").value("LIFO", Priority::lifo)...
template <class Enum>
class Choices {
public:
    Choices(nanobind::handle scope, const char* name) { made() = make_choices(scope, name); }

    Choices& value(const char* name, Enum value) {
        add_choice(made(), name, static_cast<u32>(value));
        return *this;
    }

private:
    static ChoiceClass& made() { return class_of_choices<Enum>(); }
};

template <class Enum>
struct ChoiceCaster {
    bool from_python(nanobind::handle from, u32, nanobind::detail::cleanup_list*) noexcept {
        if (!from.type().is(class_of_choices<Enum>().type)) {
            return false;
        }
        value = static_cast<Enum>(nanobind::inst_ptr<Choice>(from)->value);
        return true;
    }

    static nanobind::handle from_cpp(Enum from, nanobind::rv_policy,
                                     nanobind::detail::cleanup_list*) noexcept {
        const std::vector<nanobind::handle>& members = class_of_choices<Enum>().members;
        const auto at = static_cast<std::size_t>(from);
        if (at >= members.size()) {
            PyErr_SetString(PyExc_ValueError, "a value of the core that has no name in Python");
            return {};
        }
        return members[at].inc_ref();
    }

    Enum value;
};

}  // namespace yantra

#define YANTRA_CHOICE(Enum, name_in_python)                                             \
    template <>                                                                         \
    struct nanobind::detail::type_caster<Enum> : yantra::ChoiceCaster<Enum> {           \
        using Value = Enum;                                                             \
        template <class T>                                                              \
        using Cast = movable_cast_t<T>;                                                 \
        static constexpr auto Name = const_name("yantra._core." name_in_python);        \
        template <class T>                                                              \
        static constexpr bool can_cast() {                                              \
            return true;                                                                \
        }                                                                               \
        explicit operator Enum*() { return &value; }                                    \
        explicit operator Enum&() { return value; }                                     \
        explicit operator Enum&&() { return std::move(value); }                         \
    }

YANTRA_CHOICE(yantra::Argument::Kind, "ArgumentKind");
YANTRA_CHOICE(yantra::Block, "Block");
YANTRA_CHOICE(yantra::CellKind, "CellKind");
YANTRA_CHOICE(yantra::CollectiveKind, "CollectiveKind");
YANTRA_CHOICE(yantra::DeviceKind, "DeviceKind");
YANTRA_CHOICE(yantra::Difference, "Difference");
YANTRA_CHOICE(yantra::FlowLists, "FlowLists");
YANTRA_CHOICE(yantra::GraphOp::Kind, "OperationKind");
YANTRA_CHOICE(yantra::Happening::What, "Happening.What");
YANTRA_CHOICE(yantra::IntColumn::Kind, "IntColumn.Kind");
YANTRA_CHOICE(yantra::InterDimension, "InterDimension");
YANTRA_CHOICE(yantra::IntraDimension, "IntraDimension");
YANTRA_CHOICE(yantra::Launches::Of, "LaunchOf");
YANTRA_CHOICE(yantra::MemoryLevel, "MemoryLevel");
YANTRA_CHOICE(yantra::NodeClass, "NodeClass");
YANTRA_CHOICE(yantra::Notes, "Notes");
YANTRA_CHOICE(yantra::OpKind, "OpKind");
YANTRA_CHOICE(yantra::packet::Look, "PacketLook");
YANTRA_CHOICE(yantra::packet::RecoveryKind, "PacketRecovery");
YANTRA_CHOICE(yantra::PassSource, "PassSource");
YANTRA_CHOICE(yantra::Priority, "Priority");
YANTRA_CHOICE(yantra::RemoteMemoryKind, "RemoteMemoryKind");
YANTRA_CHOICE(yantra::StepKind, "StepKind");
YANTRA_CHOICE(yantra::Symmetry, "Symmetry");
YANTRA_CHOICE(yantra::TensorColumn::Kind, "TensorColumn.Kind");
